import { describe, expect, test } from '@jest/globals';
import { givenRows } from '../training-testing.ts';
import { findMismatch, measureMismatch } from './mismatch.ts';

const trainer = givenRows([
  [-1, -2],
  [-0.5, -3],
  [-1, -1],
]);

describe('the sampler against the trainer', () => {
  test('equal log-probs have no mismatch, and rows without any are no part of it', () => {
    const mismatch = measureMismatch({ trainer, recorded: [[-1, -2], null, null], versions: [1, 1, 1] }, 1);
    expect(mismatch).toEqual({
      ...{ rolloutK1: 0, rolloutK3: 0, rolloutMaxRatio: 1 },
      ...{ samplerK1: 0, samplerK3: 0, samplerMaxRatio: 1 },
    });
    expect(measureMismatch({ trainer, recorded: [null, null, null], versions: [1, 1, 1] }, 1)).toEqual({});
  });

  test('K1 is the mean of recorded less trainer, K3 the mean of e^x - 1 - x, MaxRatio the largest ratio either way', () => {
    const mismatch = measureMismatch({ trainer, recorded: [[-1.5, -1], null, null], versions: [1, 1, 1] }, 1);
    expect(mismatch.samplerK1).toBeCloseTo((-0.5 + 1) / 2, 12);
    expect(mismatch.samplerK3).toBeCloseTo((Math.exp(0.5) - 1 - 0.5 + Math.exp(-1)) / 2, 12);
    expect(mismatch.samplerMaxRatio).toBeCloseTo(Math.E, 12);
  });

  test('rows of older versions count for the rollouts, and for the sampler only those of the trained version', () => {
    const recorded = [
      [-1, -2],
      [-3.5, -3],
      [-1, -1],
    ];
    const mismatch = measureMismatch({ trainer, recorded, versions: [1, 0, 1] }, 1);
    expect(mismatch).toMatchObject({ samplerK3: 0, samplerMaxRatio: 1 });
    expect(mismatch.rolloutMaxRatio).toBeCloseTo(Math.exp(3), 9);
    expect(measureMismatch({ trainer, recorded, versions: [0, 0, 0] }, 1)).not.toHaveProperty('samplerK3');
  });

  test('a bound warns, a larger one stops, and null does neither', () => {
    const bounds = { warn: 0.05, stop: 0.5 };
    const kindOf = (k3: number, of: Parameters<typeof findMismatch>[1] = bounds) => findMismatch({ samplerK3: k3 }, of)?.kind;
    expect([0.05, 0.06, 0.51].map((k3) => kindOf(k3))).toEqual([undefined, 'warn', 'stop']);
    expect(kindOf(0.51, { ...bounds, stop: null })).toBe('warn');
    expect(kindOf(0.51, { warn: null, stop: null })).toBeUndefined();
    expect(findMismatch({ rolloutK3: 9 }, bounds)).toBeNull();
    expect(findMismatch({ samplerK3: 0.51, samplerMaxRatio: 12 }, bounds)?.reason).toMatch(
      /a mean k3 of 0.510, more than 0.5 .*mismatch.stop/,
    );
  });
});
