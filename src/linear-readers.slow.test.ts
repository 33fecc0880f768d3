import { describe, expect, test } from '@jest/globals';
import { findGrowth, repeated } from './testing/find-growth.ts';
import { PIECES, TEXT_READERS } from './testing/text-readers.ts';

const SHORT = { longest: 16 * 1_024, quickMs: 40 }; // quadratic work on so many characters takes 200 ms and more

describe('reading time', () => {
  test.each(Object.entries(TEXT_READERS))(
    'the time of %s grows with the length of the text, not with its square',
    (_name, read) => {
      const found = PIECES.flatMap((piece) => {
        const growth = findGrowth(read, repeated(piece), SHORT);
        return growth === undefined ? [] : [`${JSON.stringify(piece)}: ${growth}`];
      });
      expect(found).toEqual([]);
    },
  );

  test('a reader that looks through the rest of the text from each place is found, and one that sorts is not', () => {
    expect(findGrowth((text) => text.replace(/a+$/, ''), repeated('a'), SHORT)).toMatch(
      /^4096 characters take .* ms, 16384 take/,
    );
    expect(findGrowth((text) => [...text].sort().join(''), repeated('ba'), SHORT)).toBeUndefined();
  });
});
