import { expect, test } from '@jest/globals';
import { countRepeatedActions } from '../evaluation/measure-episodes.ts';

test.each<[string, string, number, number]>([
  ['a pair repeated five times in a row', 'abababababab'.slice(0, 10), 2, 5],
  ['a repeated pair among other actions', 'xabababababy', 2, 5],
  ['both of two loops', 'aabbb', 1, 5],
  ['no pair in one action repeated ten times', 'aaaaaaaaaa', 2, 0],
  ['one action repeated ten times', 'aaaaaaaaaa', 1, 10],
  ['nothing where actions recur later only', 'abcab', 2, 0],
  ['a loop of three', 'abcabca', 3, 2],
  ['nothing in one action', 'a', 1, 0],
])('repeatedActions counts %s', (_what, actions, length, count) => {
  expect(countRepeatedActions([...actions], length)).toBe(count);
});

test('a length below one is refused', () => {
  expect(() => countRepeatedActions(['a'], 0)).toThrow(RangeError);
});
