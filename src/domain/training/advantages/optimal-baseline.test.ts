import { expect, test } from '@jest/globals';
import { givenRows } from '../training-testing.ts';
import { optimalBaseline } from './return-estimators.ts';

const input = {
  rewards: givenRows([[0, 1], [0, 0, 0], [0.5]]),
  masks: [Uint8Array.of(1, 1), Uint8Array.of(1, 0, 1), Uint8Array.of(1)],
  groups: ['g', 'g', 'alone'],
  trajectories: ['a', 'b', 'c'],
  steps: [0, 0, 0],
  oldLogProbs: givenRows([[Math.log(0.5), Math.log(0.25)], [Math.log(0.25), 0, Math.log(0.5)], [-1]]),
  squaredProbs: givenRows([[0.5, 0.375], [0.375, 0, 0.5], [1]]),
  rolloutWeights: null,
};

test('the baseline of each place weighs the returns of its group by the variance accumulated over trained tokens', () => {
  // w: row 0 ½ then 0.875, row 1 0.875 then ½, behind a token of a tool; both sums are 1.375 at the second trained token.
  const { advantages, returns } = optimalBaseline(input);
  expect(returns).toEqual(givenRows([[1, 1], [0, 0, 0], [0.5]]));
  const first = 0.5 / 1.375;
  expect(advantages[0]?.[0]).toBeCloseTo(1 - first, 7);
  expect(advantages[0]?.[1]).toBeCloseTo(0.5, 7);
  expect(advantages[1]?.[0]).toBeCloseTo(-first, 7);
  expect(advantages[1]?.[1]).toBe(0);
  expect(advantages[1]?.[2]).toBeCloseTo(-0.5, 7);
});

test('a group of one keeps its return', () => {
  expect(optimalBaseline(input).advantages[2]).toEqual(Float64Array.of(0.5));
});

test('importance weights enter squared', () => {
  const rolloutWeights = givenRows([[2, 1], [1, 1, 1], [1]]);
  const { advantages } = optimalBaseline({ ...input, rolloutWeights });
  expect(advantages[0]?.[0]).toBeCloseTo(1 - 2 / 2.875, 7);
});

test('beyond the second longest trajectory of a group the longest keeps its return', () => {
  const longer = { ...input, masks: [Uint8Array.of(1, 1), Uint8Array.of(1, 0, 0), Uint8Array.of(1)] };
  expect(optimalBaseline(longer).advantages[0]?.[1]).toBe(1);
});

test('steps of a trajectory have the advantages that the trajectory has as one row', () => {
  const { advantages } = optimalBaseline(input);
  const cut = optimalBaseline({
    ...input,
    rewards: givenRows([[1], [0, 0, 0], [0.5], [0]]),
    masks: [Uint8Array.of(1), Uint8Array.of(1, 0, 1), Uint8Array.of(1), Uint8Array.of(1)],
    groups: ['g', 'g', 'alone', 'g'],
    trajectories: ['a', 'b', 'c', 'a'],
    steps: [1, 0, 0, 0],
    oldLogProbs: givenRows([[Math.log(0.25)], [Math.log(0.25), 0, Math.log(0.5)], [-1], [Math.log(0.5)]]),
    squaredProbs: givenRows([[0.375], [0.375, 0, 0.5], [1], [0.5]]),
  });
  expect([cut.advantages[3]?.[0], cut.advantages[0]?.[0]]).toEqual([...(advantages[0] ?? [])]);
  expect(cut.advantages[1]).toEqual(advantages[1]);
});
