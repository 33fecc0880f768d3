import { expect, test } from '@jest/globals';
import { type IterationResult, summarise } from './self-train.ts';

const result = (seed: number, successRate: number, repeats: number): IterationResult => ({
  method: 'base',
  seed,
  iteration: 0,
  evaluation: {
    successRate,
    meanSteps: 4 + seed,
    trained: null,
    repeatedActions: [{ length: 1, perEpisode: repeats }],
  } as unknown as IterationResult['evaluation'], // what a summary reads of it
});

test('summarise returns the mean over seeds with an interval within the range of the seeds', () => {
  const [summary, ...others] = summarise([result(1, 0.25, 0), result(2, 0.5, 1), result(3, 0.9, 2)]);
  expect(others).toEqual([]);
  expect(summary).toMatchObject({ method: 'base', iteration: 0, seeds: 3, meanSteps: 6, repeats: 1, good: 0, revisions: 0 });
  expect(summary?.success).toBeCloseTo(1.65 / 3, 12);
  expect(summary?.interval.low).toBeGreaterThanOrEqual(0.25);
  expect(summary?.interval.high).toBeLessThanOrEqual(0.9);
});
