import { describe, expect, test } from '@jest/globals';
import { givenRows } from '../training-testing.ts';
import { adjustController, penaliseRewards, tokenKl } from './kl-penalty.ts';

describe('KL of a token', () => {
  test.each(['k1', 'abs', 'k3'] as const)('%s+ keeps the value and takes the gradient of k2', (kind) => {
    expect(tokenKl(`${kind}+`, -1, -3)).toEqual({ value: tokenKl(kind, -1, -3).value, slope: tokenKl('k2', -1, -3).slope });
  });

  test('k3 has no gradient where its clamps apply', () => {
    expect(tokenKl('k3', -30, -1)).toEqual({ value: 10, slope: 0 });
    expect(tokenKl('k3', -5, -1)).toEqual({ value: 10, slope: 0 });
    expect(tokenKl('k3', -0.5, -30)).toEqual({ value: 10, slope: 0 });
  });

  test('k1 and k3 equal the KL divergence in expectation under π', () => {
    const [p, q] = [
      [0.2, 0.3, 0.5],
      [0.4, 0.4, 0.2],
    ];
    const exact = p.reduce((sum, pi, i) => sum + pi * Math.log(pi / (q[i] ?? 1)), 0);
    for (const kind of ['k1', 'k3'] as const) {
      const mean = p.reduce((sum, pi, i) => sum + pi * tokenKl(kind, Math.log(pi), Math.log(q[i] ?? 1)).value, 0);
      expect(mean).toBeCloseTo(exact, 12);
    }
  });
});

test('the KL penalty applies to trained tokens only, and its metric is the mean over rows', () => {
  const { rewards, currentKl } = penaliseRewards(
    {
      scores: givenRows([
        [0, 1],
        [0, 1],
      ]),
      logProbs: givenRows([
        [-1, -1],
        [-1, -1],
      ]),
      refLogProbs: givenRows([
        [-2, -3],
        [-1.5, -9],
      ]),
      masks: [Uint8Array.of(1, 1), Uint8Array.of(1, 0)],
    },
    'k1',
    0.1,
  );
  expect(rewards).toEqual(
    givenRows([
      [-0.1, 0.8],
      [-0.05, 1],
    ]),
  );
  expect(currentKl).toBeCloseTo((1.5 + 0.5) / 2, 7); // a row's mean divides by its count + 1e-8
});

test('an adaptive controller changes by at most a fifth of rows/horizon, and a fixed one never', () => {
  const adaptive = { kind: 'adaptive', beta: 1, target: 0.1, horizon: 100 } as const;
  expect(adjustController(adaptive, 9, 50)).toEqual({ ...adaptive, beta: 1.1 });
  expect(adjustController(adaptive, 0, 50)).toEqual({ ...adaptive, beta: 0.9 });
  expect(adjustController(adaptive, 0, 1_000)).toEqual({ ...adaptive, beta: 0.5 }); // never a reward for distance
  expect(adjustController({ kind: 'fixed', beta: 1 }, 9, 50)).toEqual({ kind: 'fixed', beta: 1 });
});
