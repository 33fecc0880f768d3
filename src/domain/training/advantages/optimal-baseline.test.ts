import { expect, test } from '@jest/globals';
import { givenRows } from '../training-testing.ts';
import { optimalBaseline } from './optimal-baseline.ts';

const input = {
  rewards: givenRows([[0, 1], [0, 0, 0], [0.5]]),
  masks: [Uint8Array.of(1, 1), Uint8Array.of(1, 0, 1), Uint8Array.of(1)],
  groups: ['g', 'g', 'alone'],
  oldLogProbs: givenRows([[Math.log(0.5), Math.log(0.25)], [Math.log(0.25), 0, Math.log(0.5)], [-1]]),
  squaredProbs: givenRows([[0.5, 0.375], [0.375, 0, 0.5], [1]]),
  rolloutWeights: null,
};

test('the baseline of each position weighs the returns of its group by the variance accumulated so far', () => {
  // w: row 0 ½ then 0.875, row 1 0.875 then ½. At place 0 the baseline is (1·0.5 + 0·0.875)/1.375; at place 1 only row 0 was
  // trained.
  const { advantages, returns } = optimalBaseline(input);
  expect(returns).toEqual(givenRows([[1, 1], [0, 0, 0], [0.5]]));
  const first = 0.5 / 1.375;
  expect(advantages[0]?.[0]).toBeCloseTo(1 - first, 7);
  expect(advantages[0]?.[1]).toBeCloseTo(0, 7);
  expect(advantages[1]?.[0]).toBeCloseTo(-first, 7);
  expect(advantages[1]?.[1]).toBe(0);
});

test('a group of one keeps its return', () => {
  expect(optimalBaseline(input).advantages[2]).toEqual(Float64Array.of(0.5));
});

test('importance weights enter squared', () => {
  const rolloutWeights = givenRows([[2, 1], [1, 1, 1], [1]]);
  const { advantages } = optimalBaseline({ ...input, rolloutWeights });
  expect(advantages[0]?.[0]).toBeCloseTo(1 - 2 / 2.875, 7);
});
