import { describe, expect, test } from '@jest/globals';
import { findGrowth, repeated } from './testing/find-growth.ts';
import { slowTest } from './testing/long-test.ts';
import { PIECES, TEXT_READERS } from './testing/text-readers.ts';

const SHORT = { longest: 16 * 1_024, quickMs: 40 }; // quadratic work on so many characters takes 200 ms and more
/** Each reader with a third of the pieces; the long run takes all of them, and several behind each other. */
const READERS = Object.entries(TEXT_READERS).map(
  ([name, read], i) => [name, read, PIECES.filter((_, at) => (at + i) % 3 === 0)] as const,
);

describe('reading time', () => {
  test.each(READERS)('the time of %s grows with the length of the text, not with its square', (_name, read, pieces) => {
    const found = pieces.flatMap((piece) => {
      const growth = findGrowth(read, repeated(piece), SHORT);
      return growth === undefined ? [] : [`${JSON.stringify(piece)}: ${growth}`];
    });
    expect(found).toEqual([]);
  });

  slowTest('a reader that looks through the rest of the text from each place is found, and one that sorts is not', () => {
    expect(findGrowth((text) => text.replace(/a+$/, ''), repeated('a'), SHORT)).toMatch(
      /^4096 characters take .* ms, 16384 take/,
    );
    expect(findGrowth((text) => [...text].sort().join(''), repeated('ba'), SHORT)).toBeUndefined();
  });
});
