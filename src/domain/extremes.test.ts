import { expect, test } from '@jest/globals';
import { largest, smallest } from './extremes.ts';

test('the extremes of any number of values are found', () => {
  const many = Array.from({ length: 500_000 }, (_, i) => i - 1);
  expect([largest(many), smallest(many)]).toEqual([499_998, -1]);
  expect([largest([], 0), smallest([], 7)]).toEqual([0, 7]);
  expect(largest([1, Number.NaN])).toBeNaN();
});
