import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { exactMatch, lastAnswer, normalizeAnswer } from './exact-match.ts';

// Printed by CPython's version of the same rules.
const NORMALISED: readonly (readonly [text: string, normal: string])[] = [
  ['The Eiffel Tower!', 'eiffel tower'],
  ['an  Apple, a pear & the plum.', 'apple pear plum'],
  ['U.S.A.', 'usa'],
  ['Theodore', 'theodore'],
  ["It’s the 1990's", 'it’s 1990s'],
  ['A', ''],
  ['  ', ''],
  ['naïve café—bar', 'naïve café—bar'],
  ['the-end', 'theend'],
  ['a\tb\nthe c', 'b c'],
  ['ANTHEM an', 'anthem'],
  ['İstanbul', 'i̇stanbul'],
  ['ñan and éa', 'ñan and éa'],
  ['Noë an Éa', 'noë éa'],
  ['a\u00a0b the\u2003x', 'b x'],
  ['x\u001fthe\u0085y', 'x y'],
  ['ΟΔΟΣ The', 'οδος'],
  ['ẞ A', 'ß'],
  ['the\u0663 the', 'the\u0663'],
  ['a_b a-b a', 'ab ab'],
];

test.each(NORMALISED)('%j is compared as %j', (text, normal) => {
  expect(normalizeAnswer(text)).toBe(normal);
});

test('every character of Python’s string.punctuation is deleted, and no other', () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(
    (c) => /[^A-Za-z0-9\s]/.test(c) && c > ' ',
  );
  const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
  expect(ascii.filter((c) => normalizeAnswer(`x${c}y`) === 'xy').join('')).toBe(punctuation);
});

test('normalisation is idempotent, except that a deletion may leave an article', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'n', 'the', ' ', 'x', '.', 'é', '\u0085') }), (text) => {
      const normal = normalizeAnswer(text);
      expect(normalizeAnswer(normal)).toBe(normal);
      expect(exactMatch(text, ['never', normal])).toBe(true);
    }),
  );
});

describe('exact match', () => {
  // specification of AgentOCR, V11
  test.each<readonly [string, readonly string[], boolean]>([
    ['The Canary Islands, Spain.', ['Canary Islands Spain'], true],
    ['A', ['the'], true],
    ['Canary', ['Tenerife', 'canary'], true],
    ['Canary Islands', ['Canary'], false],
    ['Malaga', ['Málaga'], false],
    ['', [], false],
  ])('%j compared with %j is %j', (prediction, golds, matched) => {
    expect(exactMatch(prediction, golds)).toBe(matched);
  });
});

describe('the last answer', () => {
  test('the last of two answers counts', () => {
    expect(lastAnswer('<answer>wrong</answer> so <answer> Canary </answer>')).toBe(' Canary ');
  });

  test('text without a complete tag holds no answer', () => {
    for (const text of ['canary', '<answer>canary', '<ANSWER>canary</ANSWER>']) {
      expect(lastAnswer(text)).toBeNull();
    }
  });

  test('an answer may span several lines', () => {
    expect(lastAnswer('<answer>a\nb</answer>')).toBe('a\nb');
  });
});
