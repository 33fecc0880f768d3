import { expect, test } from '@jest/globals';
import { countRepeatedActions } from './repeated-actions.ts';

test.each<[string, string, number, number]>([
  ['a pair done five times in a row', 'abababababab'.slice(0, 10), 2, 5],
  ['the same among other actions', 'xabababababy', 2, 5],
  ['two loops', 'aabbb', 1, 5],
  ['one action ten times is no pair', 'aaaaaaaaaa', 2, 0],
  ['one action ten times', 'aaaaaaaaaa', 1, 10],
  ['nothing repeated on the spot', 'abcab', 2, 0],
  ['a loop of three', 'abcabca', 3, 2],
  ['too short to repeat', 'a', 1, 0],
])('%s', (_what, actions, length, count) => {
  expect(countRepeatedActions([...actions], length)).toBe(count);
});

test('a length below one is refused', () => {
  expect(() => countRepeatedActions(['a'], 0)).toThrow(RangeError);
});
