import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { finiteDifferences, givenRows, largestGap, somePolicyInput } from '../training-testing.ts';
import { sequenceRatios } from './gspo.ts';
import {
  type Aggregation,
  type AggregationMode,
  aggregate,
  aggregationWeights,
  type PolicyLossInput,
  type PolicyLossValue,
  TOKEN_MEAN,
} from './policy-loss.ts';
import { configurePolicyLoss, POLICY_LOSSES } from './policy-losses.ts';

const MODES: readonly AggregationMode[] = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'];

function evaluate(
  name: string,
  input: PolicyLossInput,
  aggregation: Aggregation = TOKEN_MEAN,
  options: Readonly<Record<string, unknown>> = {},
): PolicyLossValue {
  const found = configurePolicyLoss(name, options);
  if (found.kind === 'refused') throw new Error(found.reason);
  const value = found.policyLoss.evaluate(input, aggregation);
  if (value.kind === 'refused') throw new Error(value.reason);
  return value;
}

/** Clipped losses have a kink where the ratio meets a bound: there a difference quotient means nothing. */
function staysOffKinks({ logProbs, oldLogProbs }: PolicyLossInput, kinks: readonly number[]): boolean {
  return logProbs.every((row, i) =>
    row.every((lp, t) => kinks.every((kink) => Math.abs(Math.exp(lp - (oldLogProbs[i]?.[t] ?? 0)) - kink) > 3e-5)),
  );
}

describe('gradients of policy losses', () => {
  test.each<[string, readonly number[]]>([
    ['clipped', [0.8, 1.2]],
    ['dual_clip', [0.8, 1.2, 3]],
    ['sapo', []],
    ['gpg', []],
  ])('the gradient of %s equals its difference quotient, in every aggregation and with importance weights', (name, kinks) => {
    fc.assert(
      fc.property(somePolicyInput, fc.constantFrom(...MODES), (input, mode) => {
        fc.pre(staysOffKinks(input, kinks));
        const aggregation = { ...TOKEN_MEAN, mode };
        const { gradient } = evaluate(name, input, aggregation);
        const quotient = finiteDifferences(
          input.logProbs,
          (logProbs) => evaluate(name, { ...input, logProbs }, aggregation).loss,
        );
        expect(largestGap(gradient, quotient)).toBeLessThan(1e-6);
      }),
      { numRuns: 150 },
    );
  });

  test('the gradient of cispo equals the difference quotient with a fixed clipped ratio, also where the ratio is clipped', () => {
    fc.assert(
      fc.property(somePolicyInput, (input) => {
        const { gradient } = evaluate('cispo', input);
        const held = input.logProbs.map((row, i) =>
          row.map((lp, t) => Math.min(Math.max(Math.exp(lp - (input.oldLogProbs[i]?.[t] ?? 0)), 0.8), 1.2)),
        );
        const shares = aggregationWeights(input.masks, TOKEN_MEAN);
        const surrogate = (logProbs: readonly Float64Array[]) => {
          const losses = logProbs.map((row, i) => {
            return row.map(
              (lp, t) => -(held[i]?.[t] ?? 0) * (input.advantages[i]?.[t] ?? 0) * (input.weights?.[i]?.[t] ?? 1) * lp,
            );
          });
          return aggregate(losses, shares);
        };
        expect(largestGap(gradient, finiteDifferences(input.logProbs, surrogate))).toBeLessThan(1e-6);
      }),
    );
  });

  test('the gradient of gspo equals the difference quotient of the loss where a row has one advantage', () => {
    fc.assert(
      fc.property(somePolicyInput, (drawn) => {
        const advantages = drawn.advantages.map((row) => new Float64Array(row.length).fill(row[0] ?? 0));
        const input = { ...drawn, advantages, weights: null };
        const ratios = sequenceRatios(input);
        fc.pre(ratios.every((ratio) => Math.abs(ratio - (1 - 3e-4)) > 3e-5 && Math.abs(ratio - (1 + 4e-4)) > 3e-5));
        const { gradient } = evaluate('gspo', input);
        const quotient = finiteDifferences(input.logProbs, (logProbs) => evaluate('gspo', { ...input, logProbs }).loss);
        expect(largestGap(gradient, quotient)).toBeLessThan(1e-6);
      }),
    );
  });

  test('every unclipped loss has the gradient −A on policy, times its share', () => {
    fc.assert(
      fc.property(somePolicyInput, fc.constantFrom(...Object.keys(POLICY_LOSSES)), (drawn, name) => {
        const input = { ...drawn, logProbs: drawn.oldLogProbs, weights: null };
        const aggregation: Aggregation = { ...TOKEN_MEAN, mode: 'seq-mean-token-mean' };
        const expected = aggregationWeights(input.masks, aggregation).map((row, i) =>
          row.map((share, t) => -share * (input.advantages[i]?.[t] ?? 0)),
        );
        expect(largestGap(evaluate(name, input, aggregation).gradient, expected)).toBeLessThan(1e-12);
      }),
    );
  });

  test.each(Object.keys(POLICY_LOSSES))('a token outside the mask has no influence on %s, even when it holds NaN', (name) => {
    fc.assert(
      fc.property(somePolicyInput, (input) => {
        const broken = (rows: readonly Float64Array[]) =>
          rows.map((row, i) => row.map((v, t) => (input.masks[i]?.[t] === 1 ? v : Number.NaN)));
        const [clean, spoilt] = [
          evaluate(name, input),
          evaluate(name, { ...input, logProbs: broken(input.logProbs), advantages: broken(input.advantages) }),
        ];
        expect(spoilt.loss).toBe(clean.loss);
        expect(spoilt.gradient).toEqual(clean.gradient);
        expect(spoilt.gradient.every((row, i) => row.every((g, t) => input.masks[i]?.[t] === 1 || g === 0))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test('dual clipping holds an extreme ratio at −A·c, without a gradient', () => {
    const input: PolicyLossInput = {
      oldLogProbs: [Float64Array.of(-5)],
      logProbs: [Float64Array.of(-1)],
      advantages: [Float64Array.of(-2)],
      masks: [Uint8Array.of(1)],
      weights: null,
    };
    expect(evaluate('dual_clip', input)).toMatchObject({ loss: 6, gradient: [Float64Array.of(0)] });
    expect(evaluate('clipped', input).loss).toBeCloseTo(2 * Math.exp(4), 9);
  });

  test('the clamp of ±20 keeps a loss finite and its gradient 0', () => {
    const input: PolicyLossInput = {
      oldLogProbs: [Float64Array.of(-1_000)],
      logProbs: [Float64Array.of(-1)],
      advantages: [Float64Array.of(-1)],
      masks: [Uint8Array.of(1)],
      weights: null,
    };
    expect(evaluate('clipped', input)).toMatchObject({ loss: Math.exp(20), gradient: [Float64Array.of(0)] });
    expect(evaluate('clipped', input, TOKEN_MEAN, { logRatios: 'unclamped' }).loss).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('refused policy losses', () => {
  const input: PolicyLossInput = {
    oldLogProbs: [Float64Array.of(-1, -1)],
    logProbs: [Float64Array.of(-1, -1)],
    advantages: [Float64Array.of(1, 1)],
    masks: [Uint8Array.of(1, 1)],
    weights: null,
  };
  const dualClip = configurePolicyLoss('dual_clip', {});

  test.each<[string, Partial<PolicyLossInput>, RegExp]>([
    ['a column of another length', { advantages: [Float64Array.of(1)] }, /row 0 of advantages has 1 tokens where its mask has 2/],
    ['a missing row', { logProbs: [] }, /logProbs has 0 rows where the masks have 1/],
    [
      'NaN on a trained token',
      { advantages: [Float64Array.of(1, Number.NaN)] },
      /row 0 of advantages holds a number that is not finite/,
    ],
    ['an infinite weight', { weights: [Float64Array.of(1, Number.POSITIVE_INFINITY)] }, /row 0 of weights/],
  ])('a policy loss refuses %s', (_what, change, reason) => {
    expect(dualClip.kind === 'configured' && dualClip.policyLoss.evaluate({ ...input, ...change }, TOKEN_MEAN)).toEqual({
      kind: 'refused',
      reason: expect.stringMatching(reason),
    });
  });

  test.each([
    ['ppo', {}, /there is no policy loss ppo; there are clipped, dual_clip, gspo, cispo, sapo, gpg/],
    ['dual_clip', { dualClip: 1 }, /dualClip is a number from 1/],
  ])('the configuration %s %o is refused', (name, options, reason) => {
    expect(configurePolicyLoss(name, options)).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });
});

test('SAPO is a mean over the means of sequences, whatever aggregation is asked for', () => {
  const rows = [[-1], [-1, -1, -1]];
  const input: PolicyLossInput = {
    logProbs: givenRows(rows),
    oldLogProbs: givenRows(rows),
    advantages: givenRows([[1], [-1, -1, -1]]),
    masks: [Uint8Array.of(1), Uint8Array.of(1, 1, 1)],
    weights: null,
  };
  const expected = (-1 * 2 + (1 * 2) / 1.05) / 2; // L = −A·(4/τ)·σ(0) of each token, τ 1 and 1.05
  for (const mode of MODES) expect(evaluate('sapo', input, { ...TOKEN_MEAN, mode }).loss).toBeCloseTo(expected, 7);
});
