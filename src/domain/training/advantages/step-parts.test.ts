import { describe, expect, test } from '@jest/globals';
import { givenBatch } from '../training-testing.ts';
import type { EstimatorBatch } from './estimator.ts';
import { configureEstimator } from './estimators.ts';

/**
 * A task with two episodes of two steps; the first succeeds (1), and its first step is paid 0.2 for compression. The second loses
 * 0.1 at its second step, whose answer was broken.
 */
const BATCH = givenBatch([[0.2], [1], [0], [-0.1]], [[1], [1], [1], [1]], {
  trajectories: ['a', 'a', 'b', 'b'],
  steps: [0, 1, 0, 1],
  stepParts: [
    { component: 'compression', weight: 2, values: [0.1, 0, 0, 0] },
    { component: 'invalid-action', weight: 1, values: [0, 0, 0, -0.1] },
  ],
});

function advantages(options: Readonly<Record<string, unknown>>, batch: EstimatorBatch = BATCH): readonly number[] {
  const configured = configureEstimator('step_parts_grpo', options);
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const found = configured.estimator.estimate(batch);
  if (found.kind === 'refused') throw new Error(found.reason);
  return found.advantages.map((row) => row[0] ?? Number.NaN);
}

describe('GRPO over the parts of step scores', () => {
  test('a step is scored by the return of its episode and by what it got itself, compared with all steps of the task', () => {
    const scores = [1.2, 1, 0, -0.1];
    const mean = 2.1 / 4;
    for (const [i, advantage] of advantages({ scale: 'none' }).entries())
      expect(advantage).toBeCloseTo((scores[i] ?? 0) - mean, 12);
    const deviation = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / 3);
    for (const [i, advantage] of advantages({}).entries())
      expect(advantage).toBeCloseTo(((scores[i] ?? 0) - mean) / (deviation + 1e-6), 12);
  });

  test('a decoupled part keeps its weight however small its differences are', () => {
    const parts = [
      [1, 1, 0, 0],
      [0.1, 0, 0, 0],
      [0, 0, 0, -0.1],
    ];
    const scaled = parts.map((values) => {
      const mean = values.reduce((a, b) => a + b) / 4;
      const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 3);
      return values.map((value) => (value - mean) / (deviation + 1e-6));
    });
    for (const [i, advantage] of advantages({ parts: 'decoupled' }).entries())
      expect(advantage).toBeCloseTo((scaled[0]?.[i] ?? 0) + 2 * (scaled[1]?.[i] ?? 0) + (scaled[2]?.[i] ?? 0), 12);
  });

  test('whitened advantages have the mean 0 and the deviation 1 over the batch', () => {
    const whitened = advantages({ parts: 'decoupled', whiten: 'batch', epsilon: 0 });
    expect(whitened.reduce((a, b) => a + b)).toBeCloseTo(0, 12);
    expect(whitened.reduce((sum, value) => sum + value ** 2, 0) / 3).toBeCloseTo(1, 12);
  });

  test('a batch whose components nobody keeps apart is refused', () => {
    expect(() => advantages({}, { ...BATCH, stepParts: null })).toThrow('it has no stepParts');
  });
});
