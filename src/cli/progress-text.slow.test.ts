import { expect, test } from '@jest/globals';
import { progressText } from './collect.ts';

const progress = { trees: 3, plannedTrees: 16, rollouts: 206, steps: 789, succeeded: 195, failedTrees: 0, failed: 0 };

test('the progress of a search names no number of rollouts to come, which nobody knows', () => {
  expect(progressText({ ...progress, plannedRollouts: null }, 10)).toBe(
    'collecting: 3/16 trees, 206 rollouts, 789 steps (79/s), 195 succeeded',
  );
  expect(progressText({ ...progress, plannedRollouts: 300, failed: 2 }, 10)).toBe(
    'collecting: 3/16 trees, 206/300 rollouts, 789 steps (79/s), 195 succeeded, 2 failed',
  );
});
