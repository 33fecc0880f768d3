import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findEnclosed } from './enclosed.ts';

test('the reader finds what the pattern finds', () => {
  const piece = fc.constantFrom('<a>', '</a>', '<A>', '</A>', 'x', '\n', 'İ', '<a', '>');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const text = pieces.join('');
      for (const [letters, pattern] of [
        ['as-written', /<a>([\s\S]*?)<\/a>/g],
        ['any-case', /<a>([\s\S]*?)<\/a>/gi],
      ] as const) {
        const expected = [...text.matchAll(pattern)].map((match) => ({
          content: match[1],
          start: match.index,
          end: match.index + match[0].length,
        }));
        expect(findEnclosed(text, 'a', letters)).toEqual(expected);
      }
    }),
  );
});

test('a hundred thousand open tags are scanned once', () => {
  expect(findEnclosed('<a>'.repeat(100_000), 'a', 'any-case')).toEqual([]);
});
