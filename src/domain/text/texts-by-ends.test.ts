import { expect, test } from '@jest/globals';
import { textsByEnds } from './texts-by-ends.ts';

test('a text is cut by code points, so that no character of two units is halved', () => {
  expect(textsByEnds('é🌳 go', [1, 2, 2, 5])).toEqual(['é', '🌳', '', ' go']);
});

test('what lies behind the last end belongs to no token, and an end behind the text adds nothing', () => {
  expect(textsByEnds('abc', [1, 2])).toEqual(['a', 'b']);
  expect(textsByEnds('abc', [3, 9])).toEqual(['abc', '']);
  expect(textsByEnds('', [])).toEqual([]);
});

test('an end before the one before it makes an empty text', () => {
  expect(textsByEnds('abcd', [3, 1, 4])).toEqual(['abc', '', 'd']);
});
