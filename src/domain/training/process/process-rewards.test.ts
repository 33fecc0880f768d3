import { expect, test } from '@jest/globals';
import { givenRows } from '../training-testing.ts';
import { addRewards, normaliseOverBatch, placeToolRewards } from './process-rewards.ts';

test('the k-th reward is assigned to the token that closes the k-th call; surplus and ends outside the row are ignored', () => {
  const rows = [
    { callEnds: [1, 3], rewards: [0.1, -0.05] },
    { callEnds: [2, 4, 7], rewards: [-0.1] },
    { callEnds: [], rewards: [0.3] },
    { callEnds: [0, 2], rewards: [1, 2] },
  ];
  expect(placeToolRewards(rows, [5, 3, 1, 2])).toEqual(givenRows([[0, 0.1, 0, -0.05, 0], [0, 0, -0.1], [0], [1, 0]]));
});

test('the largest reverse cumulative sum of the batch divides every row', () => {
  const scaled = normaliseOverBatch(givenRows([[0, 0.1, 0, 0.1, 0.1], [0.3]]));
  expect(scaled[0]?.[1]).toBeCloseTo(0.1 / (0.3 + 1e-6), 12);
  expect(scaled[1]?.[0]).toBeCloseTo(0.3 / (0.3 + 1e-6), 12);
  expect(normaliseOverBatch(givenRows([[0, 0]]))).toEqual(givenRows([[0, 0]]));
});

test('process and outcome rewards are added token by token', () => {
  expect(addRewards(givenRows([[0, 1]]), givenRows([[0.5, 0.25]]))).toEqual(givenRows([[0.5, 1.25]]));
  expect(() => addRewards(givenRows([[0, 1]]), givenRows([[0.5]]))).toThrow(RangeError);
});
