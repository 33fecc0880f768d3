import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { tokenSetRatio } from './token-set-ratio.ts';

// pairs of texts with what `fuzz.token_set_ratio` of thefuzz 0.22.1 says of them
const pairs = JSON.parse(readFileSync(new URL('./fixtures/token-set-ratio.json', import.meta.url), 'utf8')) as [
  string,
  string,
  number,
][];

test('two texts are as alike as thefuzz says', () => {
  expect(pairs.length).toBeGreaterThan(100);
  expect(pairs.map(([one, other]) => [one, other, tokenSetRatio(one, other)])).toEqual(pairs);
});

test('the order of two texts does not count, nor that of their words, and words of one among those of the other are 100', () => {
  const words = fc.array(fc.constantFrom('color', 'blue', 'navy', '12', 'count', 'x-large'), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(words, words, (one, other) => {
      const ratio = tokenSetRatio(one.join(' '), other.join(' '));
      expect(tokenSetRatio(other.join(' '), [...one].reverse().join(' '))).toBe(ratio);
      expect(tokenSetRatio([...one, ...other].join(' '), one.join(' '))).toBe(100);
    }),
  );
});
