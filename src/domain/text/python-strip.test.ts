import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pythonStrip, pythonWords } from './python-strip.ts';

test('strip removes what Python calls white space and keeps what only JavaScript does', () => {
  expect(pythonStrip('\u001c\u0085\u00a0\u2003 \t\r\nx y\u3000\u2028\u001f')).toBe('x y');
  expect(pythonStrip('\ufeffx\ufeff')).toBe('\ufeffx\ufeff');
  expect(pythonStrip(' \n')).toBe('');
});

test('words are split at the same characters as in Python', () => {
  expect(pythonWords('\u001c a\u0085b\u00a0\u2003c\ufeffd \n')).toEqual(['a', 'b', 'c\ufeffd']);
  expect(pythonWords(' \n')).toEqual([]);
  const blank = fc.constantFrom(' ', '\u001f', '\u0085', '\ufeff', '\u2028', 'x');
  fc.assert(
    fc.property(fc.string({ unit: blank }), (text) => {
      expect(pythonWords(text)).toEqual(pythonWords(pythonStrip(text)));
      for (const word of pythonWords(text)) expect(pythonStrip(word)).toBe(word);
    }),
  );
});
