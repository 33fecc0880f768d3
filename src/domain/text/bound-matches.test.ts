import { expect, test } from '@jest/globals';
import { boundMatches, hasAllWords, hasOnlyWords, wordsOf } from './bound-matches.ts';

const SHARES: Readonly<Record<string, number>> = { oak: 0.5, log: 0.2, stick: 0.1, "o'brien": 0.01 };
const shareOf = (word: string) => SHARES[word] ?? 0.001;

test.each([
  ["'oak'", 0.5],
  ["'oak' & 'log'", 0.2],
  ["'oak' <-> 'log'", 0.2],
  ["'oak' <3> 'log' & 'stick'", 0.1],
  ["'oak' | 'log'", 0.7],
  ["'oak' | 'log' | 'oak'", 1],
  ["'log' & ( 'oak' | 'rare' )", 0.2],
  ["'stick' | 'oak' & 'rare'", 0.101],
  ["'oak' & !'log'", 0.5],
  ["'oak' & !( 'log' <-> 'stick' )", 0.5],
  ["'o''brien'", 0.01],
])('the query %s matches at most the share %d of the texts', (query, share) => {
  expect(boundMatches(query, shareOf)).toBeCloseTo(share, 10);
});

test.each(['', "'oak' &", "( 'oak'", "'oak' 'log'", 'oak'])('%j is refused as a query', (query) => {
  expect(() => boundMatches(query, shareOf)).toThrow(RangeError);
});

test('words come without their quotes', () => {
  expect(wordsOf("'oak' & ( 'o''brien' | !'back\\\\slash' )")).toEqual(['oak', "o'brien", 'back\\slash']);
});

test.each([
  ["'oak' & 'log'", true],
  ["'oak' | 'log'", true],
  ["'<' & '!'", true],
  ["'oak' <-> 'log'", false],
  ["'oak' & !'log'", false],
])('the query %s is decided by the words that a text holds: %j', (query, alone) => {
  expect(hasOnlyWords(query)).toBe(alone);
});

test.each([
  ["'oak' & 'log'", true],
  ["'oak' <-> '|'", true],
  ["'oak' | 'log'", false],
  ["'oak' & !'log'", false],
])('the query %s asks for all of its words: %j', (query, all) => {
  expect(hasAllWords(query)).toBe(all);
});
