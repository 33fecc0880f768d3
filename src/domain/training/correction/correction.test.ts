import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givenRows, somePolicyInput } from '../training-testing.ts';
import { importanceWeights, parseRejectionRules, type RolloutLogProbs, rejectDrifted } from './correct-rollouts.ts';

const drifted: fc.Arbitrary<RolloutLogProbs> = somePolicyInput.map(({ logProbs, oldLogProbs, masks }) => {
  return { trainer: logProbs, rollout: oldLogProbs, masks };
});

describe('importance weights', () => {
  test.each(['token', 'sequence'] as const)('%s weights of an unchanged policy are 1 and keep the whole sample', (level) => {
    fc.assert(
      fc.property(drifted, ({ trainer, masks }) => {
        const found = importanceWeights({ trainer, rollout: trainer, masks }, { level, threshold: 2, normalise: 'none' });
        expect(found.weights).toEqual(masks.map((mask) => Float64Array.from(mask)));
        expect(found).toMatchObject({ effectiveSampleShare: 1, cutShare: 0 });
      }),
    );
  });

  test.each(['token', 'sequence'] as const)(
    '%s weights lie in 0..threshold, are 0 outside the mask, and keep a share of the sample in 0..1',
    (level) => {
      fc.assert(
        fc.property(drifted, (input) => {
          const { weights, effectiveSampleShare, cutShare } = importanceWeights(input, {
            level,
            threshold: 1.5,
            normalise: 'none',
          });
          for (const [row, own] of weights.entries()) {
            for (const [t, weight] of own.entries()) {
              expect(weight).toBeGreaterThanOrEqual(0);
              expect(weight).toBeLessThanOrEqual(1.5);
              expect(input.masks[row]?.[t] === 1 || weight === 0).toBe(true);
            }
          }
          expect(effectiveSampleShare).toBeGreaterThan(0);
          expect(effectiveSampleShare).toBeLessThanOrEqual(1 + 1e-12);
          expect(cutShare).toBeGreaterThanOrEqual(0);
          expect(cutShare).toBeLessThanOrEqual(1);
        }),
      );
    },
  );

  test('weights that are all next to nothing are not blown up to full strength', () => {
    const input = { trainer: givenRows([[-30, -30]]), rollout: givenRows([[0, 0]]), masks: [Uint8Array.of(1, 1)] };
    const { weights } = importanceWeights(input, { level: 'token', threshold: 2, normalise: 'batch' });
    expect(weights[0]?.[0]).toBeCloseTo(Math.exp(-20), 15);
  });

  test('weights normalised over the batch have mean 1', () => {
    fc.assert(
      fc.property(drifted, (input) => {
        const { weights } = importanceWeights(input, { level: 'token', threshold: 2, normalise: 'batch' });
        const trained = weights.flatMap((row, i) => [...row].filter((_, t) => input.masks[i]?.[t] === 1));
        expect(trained.reduce((a, b) => a + b, 0) / trained.length).toBeCloseTo(1, 6);
      }),
    );
  });

  test('one dominant weight leaves a small part of the sample', () => {
    const input = {
      trainer: givenRows([[0, -9, -9, -9]]),
      rollout: givenRows([[0, 0, 0, 0]]),
      masks: [Uint8Array.of(1, 1, 1, 1)],
    };
    expect(importanceWeights(input, { level: 'token', threshold: 2, normalise: 'none' }).effectiveSampleShare).toBeCloseTo(
      0.25,
      3,
    );
  });
});

describe('rejection rules', () => {
  test('several rules together keep what every single rule keeps', () => {
    fc.assert(
      fc.property(drifted, (input) => {
        const [one, two, both] = [
          rejectDrifted(input, parseRejectionRules('token_k1', '0.6_1.6')),
          rejectDrifted(input, parseRejectionRules('seq_mean_k3', '0.3')),
          rejectDrifted(input, parseRejectionRules('token_k1,seq_mean_k3', '0.6_1.6,0.3')),
        ];
        expect(both.masks).toEqual(one.masks.map((mask, i) => mask.map((m, t) => m * (two.masks[i]?.[t] ?? 0))));
      }),
    );
  });

  test('an unchanged policy loses no token', () => {
    fc.assert(
      fc.property(drifted, ({ trainer, masks }) => {
        const rules = parseRejectionRules('token_k1,token_k3,seq_sum_k1,seq_mean_k2,seq_max_k2', '1.1');
        expect(rejectDrifted({ trainer, rollout: trainer, masks }, rules)).toEqual({ masks, rejectedTokens: 0, rejectedRows: 0 });
      }),
    );
  });

  test('the metrics count the share of rejected tokens and rows, ignoring rows without any', () => {
    const input = {
      trainer: givenRows([[0, 0], [3, 0], [0]]),
      rollout: givenRows([[0, 0], [0, 0], [0]]),
      masks: [Uint8Array.of(1, 1), Uint8Array.of(1, 1), Uint8Array.of(0)],
    };
    expect(rejectDrifted(input, parseRejectionRules('seq_max_k2', '1'))).toMatchObject({
      rejectedTokens: 0.5,
      rejectedRows: 0.5,
    });
    expect(rejectDrifted(input, parseRejectionRules('token_k1', '2'))).toMatchObject({ rejectedTokens: 0.25, rejectedRows: 0 });
  });

  test('a single bound v of k1 means 1/v … v', () => {
    expect(parseRejectionRules('token_k1', '2')).toEqual([{ level: 'token', statistic: 'k1', lower: 0.5, upper: 2 }]);
    expect(parseRejectionRules('token_k1, seq_max_k2', '0.5_2, 3')).toEqual([
      { level: 'token', statistic: 'k1', lower: 0.5, upper: 2 },
      { level: 'seq_max', statistic: 'k2', upper: 3 },
    ]);
  });

  test.each([
    ['token_k4', '1', /no rejection option "token_k4"/],
    ['seq_max_k1', '1', /no rejection option "seq_max_k1"/],
    ['token_k1', '', /the bound of token_k1/],
    ['token_k1', '-1', /the bound of token_k1/],
    ['token_k1', '2_1', /the bound of token_k1/],
    ['token_k1', '1_2_3', /the bound of token_k1/],
    ['token_k2', '1_2', /upper bound only/],
    ['token_k1,token_k2,token_k3', '1,2', /3 options need 3 bounds or one, not 2/],
  ])('the rule %s with bound %j is refused', (options, bounds, reason) => {
    expect(() => parseRejectionRules(options, bounds)).toThrow(reason);
  });
});
