import { expect, test } from '@jest/globals';
import { penaliseBatch } from './estimator-batch.ts';
import { trainingSettings } from './training-settings.ts';

const columns = {
  scores: [Float64Array.of(0, 1), Float64Array.of(0.5)],
  logProbs: [Float64Array.of(-1, -2), Float64Array.of(-1)],
  refLogProbs: [Float64Array.of(-1.5, -1), Float64Array.of(-1.75)],
};
const fixed = { kind: 'k1', coefficient: 0.1, in: 'reward' } as const;
const adaptive = { ...fixed, controller: { kind: 'adaptive', target: 0.1, horizon: 100 } } as const;

test('a fixed penalty is taken from each token, and leaves no coefficient behind', () => {
  const { rewards, nextCoefficient, metrics } = penaliseBatch(columns, fixed, null);
  expect(rewards.map((row) => [...row])).toEqual([[-0.05, 1.1], [0.5 - 0.1 * 0.75]]);
  expect(nextCoefficient).toBeNull();
  expect(metrics.klCoefficient).toBe(0.1);
  expect(metrics.rewardKl).toBeCloseTo((-0.25 + 0.75) / 2, 6); // the mean of the rows' means
});

test('an adaptive penalty uses the coefficient from before its batch and leaves the next one behind', () => {
  const { rewards, nextCoefficient, metrics } = penaliseBatch(columns, adaptive, 0.2);
  expect(rewards[1]?.[0]).toBeCloseTo(0.5 - 0.2 * 0.75, 12);
  expect(metrics.klCoefficient).toBe(0.2);
  // a KL of 0.25 is over the target of 0.1 by more than a fifth
  expect(nextCoefficient).toBeCloseTo(0.2 * (1 + (0.2 * 2) / 100), 12);
});

test('a declaration with an adaptive coefficient of KL in the loss is refused and names the remedy', () => {
  const settings = {
    objective: { kind: 'policy-gradient', estimator: { name: 'grpo' }, loss: { name: 'dual_clip' } },
    learningRate: 0.1,
    kl: { ...adaptive, in: 'loss' },
  };
  expect(trainingSettings.safeParse(settings).error?.message).toContain('say in: reward, or leave the controller out');
});
