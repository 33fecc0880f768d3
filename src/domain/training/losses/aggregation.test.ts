import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givenRows, somePolicyInput } from '../training-testing.ts';
import { type Aggregation, type AggregationMode, aggregate, aggregationWeights, TOKEN_MEAN } from './policy-loss.ts';

const MODES: readonly AggregationMode[] = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'];

describe('aggregation', () => {
  test('micro-batches and shards with global denominators add up to the loss of the whole batch, however it is cut', () => {
    fc.assert(
      fc.property(somePolicyInput, fc.constantFrom(...MODES), fc.nat(), (input, mode, cut) => {
        const { masks, advantages: losses } = input;
        const tokens = masks.flatMap((mask) => [...mask]).reduce((a, b) => a + b, 0);
        const rows = masks.filter((mask) => mask.includes(1)).length;
        const lossScale = 8;
        const whole = aggregate(losses, aggregationWeights(masks, { ...TOKEN_MEAN, mode, lossScale }));
        const at = cut % (masks.length + 1);
        const shards = 2;
        const aggregation: Aggregation = {
          mode,
          denominators: { kind: 'global', tokens, rows, shards },
          lossScale,
          emptyRows: 'left-out',
        };
        const parts = [[0, at] as const, [at, masks.length] as const].map(([from, to]) => {
          return aggregate(losses.slice(from, to), aggregationWeights(masks.slice(from, to), aggregation));
        });
        expect(parts.reduce((a, b) => a + b, 0) / shards).toBeCloseTo(whole, 9);
      }),
    );
  });

  test('a padding row changes no mean where empty rows are excluded, and spoils one where they are counted', () => {
    const masks = [Uint8Array.of(1, 1), Uint8Array.of(0, 0)];
    const losses = givenRows([
      [1, 2],
      [7, 7],
    ]);
    const means = MODES.map((mode) => aggregate(losses, aggregationWeights(masks, { ...TOKEN_MEAN, mode })));
    const alone = MODES.map((mode) =>
      aggregate(losses.slice(0, 1), aggregationWeights(masks.slice(0, 1), { ...TOKEN_MEAN, mode })),
    );
    expect(means).toEqual(alone);
    const poisoned = aggregationWeights(masks, { ...TOKEN_MEAN, mode: 'seq-mean-token-mean', emptyRows: 'counted' });
    expect(aggregate(losses, poisoned)).toBeNaN();
  });

  test('rows of the scaled sum weigh the same in every mini-batch, however long its rows and however many they are', () => {
    const aggregation = { ...TOKEN_MEAN, mode: 'seq-mean-token-sum-norm', lossScale: 10 } as const;
    const weightOf = (...lengths: readonly number[]) => {
      const masks = lengths.map((length) => Uint8Array.from({ length: 8 }, (_, t) => Number(t < length)));
      return lengths.length * (aggregationWeights(masks, aggregation)[0]?.[0] ?? Number.NaN);
    };
    for (const rows of [[2], [8], [2, 8], [1, 1, 1]]) expect(weightOf(...rows)).toBeCloseTo(1 / 10, 12);
  });

  test.each(MODES)('%s of no trained token is 0, not NaN', (mode) => {
    const masks = [Uint8Array.of(0, 0)];
    expect(aggregate(givenRows([[1, 2]]), aggregationWeights(masks, { ...TOKEN_MEAN, mode }))).toBe(0);
    expect(aggregate([], aggregationWeights([], { ...TOKEN_MEAN, mode }))).toBe(0);
  });
});
