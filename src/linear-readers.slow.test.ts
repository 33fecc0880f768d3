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

  test('a reader whose work grows with the cube of the length is found, and one that sorts is not', () => {
    const cubic = ({ length }: string) => {
      let steps = 0;
      const part = length / 32;
      for (let i = 0; i < part; i++) for (let j = 0; j < part; j++) for (let k = 0; k < part; k++) steps++;
      return steps;
    };
    expect(findGrowth(cubic, repeated('a'), SHORT)).toMatch(/^4096 characters take .* ms, 16384 take/);
    expect(findGrowth((text) => [...text].sort().join(''), repeated('ba'), SHORT)).toBeUndefined();
  });
});
