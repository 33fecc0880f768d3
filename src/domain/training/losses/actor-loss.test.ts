import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KL_KINDS } from '../kl/kl-penalty.ts';
import { finiteDifferences, givenRows, largestGap, somePolicyInput } from '../training-testing.ts';
import { type ActorLoss, type ActorTerms, actorLoss } from './actor-loss.ts';
import { aggregationWeights, type PolicyLossInput, TOKEN_MEAN } from './policy-loss.ts';
import { configurePolicyLoss } from './policy-losses.ts';

function evaluate(input: PolicyLossInput, terms: ActorTerms): ActorLoss {
  const found = configurePolicyLoss('gpg', {});
  if (found.kind === 'refused') throw new Error(found.reason);
  const loss = actorLoss(found.policyLoss, input, terms, TOKEN_MEAN);
  if (loss.kind === 'refused') throw new Error(loss.reason);
  return loss;
}

test.each(KL_KINDS.filter((kind) => !kind.endsWith('+')))(
  'the gradient with a KL loss of kind %s equals the difference quotient',
  (kind) => {
    fc.assert(
      fc.property(somePolicyInput, (input) => {
        const terms = { entropies: null, entropyCoefficient: 0, kl: { kind, coefficient: 0.7, refLogProbs: input.oldLogProbs } };
        const quotient = finiteDifferences(input.logProbs, (logProbs) => evaluate({ ...input, logProbs }, terms).loss);
        expect(largestGap(evaluate(input, terms).gradient, quotient)).toBeLessThan(1e-6);
      }),
    );
  },
);

test('entropy is rewarded by its coefficient, and its gradient per token is the coefficient times the share', () => {
  fc.assert(
    fc.property(somePolicyInput, (input) => {
      const entropies = input.logProbs.map((row) => row.map((lp) => -lp));
      const plain = evaluate(input, { entropies: null, entropyCoefficient: 0.01, kl: null });
      const rewarded = evaluate(input, { entropies, entropyCoefficient: 0.01, kl: null });
      const shares = aggregationWeights(input.masks, TOKEN_MEAN);
      expect(rewarded.loss).toBeCloseTo(plain.loss - 0.01 * (rewarded.metrics.entropy ?? Number.NaN), 12);
      expect(rewarded.gradient).toEqual(plain.gradient);
      expect(
        largestGap(
          rewarded.entropyGradient,
          shares.map((row) => row.map((share) => -0.01 * share)),
        ),
      ).toBe(0);
    }),
  );
});

test('the metrics show the parts of the loss separately', () => {
  const input: PolicyLossInput = {
    oldLogProbs: givenRows([[-1, -1]]),
    logProbs: givenRows([[-1, -1]]),
    advantages: givenRows([[1, 3]]),
    masks: [Uint8Array.of(1, 0)],
    weights: null,
  };
  const terms: ActorTerms = {
    entropies: givenRows([[0.5, 9]]),
    entropyCoefficient: 0.1,
    kl: { kind: 'k2', coefficient: 0.2, refLogProbs: givenRows([[-2, 0]]) },
  };
  expect(evaluate(input, terms)).toMatchObject({
    loss: 1 - 0.05 + 0.1,
    metrics: { policyLoss: 1, entropy: 0.5, klLoss: 0.5, oldKl: 0 },
    gradient: givenRows([[-1 + 0.2, 0]]),
    entropyGradient: givenRows([[-0.1, 0]]),
  });
});
