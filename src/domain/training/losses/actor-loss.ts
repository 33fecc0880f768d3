import { type KlKind, type KlLogRatios, tokenKl } from '../kl/kl-penalty.ts';
import type { Refused } from '../options.ts';
import { at, buildRows, type Rows, rowAt } from '../rows/rows.ts';
import { type Aggregation, aggregate, aggregationWeights } from './aggregation.ts';
import type { ConfiguredPolicyLoss, PolicyLossInput } from './policy-loss.ts';

export interface ActorTerms {
  /** Entropy of each token's distribution in nats; null when it is not needed. */
  readonly entropies: Rows | null;
  readonly entropyCoefficient: number;
  readonly kl: {
    readonly kind: KlKind;
    readonly coefficient: number;
    readonly refLogProbs: Rows;
    readonly logRatios?: KlLogRatios | undefined;
  } | null;
}

export interface ActorLoss {
  readonly kind: 'loss';
  readonly loss: number;
  /** d loss / d logProb of each token: policy loss and KL loss. */
  readonly gradient: Rows;
  /** d loss / d H of each token, to be chained with `entropyGradient` of its logits. */
  readonly entropyGradient: Rows;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The whole loss of the actor: policy loss − entropyCoefficient·agg(H) + klCoefficient·agg(KL), all aggregated alike (verl). */
export function actorLoss(
  policyLoss: ConfiguredPolicyLoss,
  input: PolicyLossInput,
  { entropies, entropyCoefficient, kl }: ActorTerms,
  aggregation: Aggregation,
): ActorLoss | Refused {
  const policy = policyLoss.evaluate(input, aggregation);
  if (policy.kind === 'refused') return policy;
  const shares = aggregationWeights(input.masks, aggregation);
  const klAt = (row: number, t: number) => {
    return kl === null
      ? { value: 0, slope: 0 }
      : tokenKl(kl.kind, at(rowAt(input.logProbs, row), t), at(rowAt(kl.refLogProbs, row), t), kl.logRatios);
  };
  const coefficient = kl?.coefficient ?? 0;
  const klLoss =
    kl === null
      ? 0
      : aggregate(
          buildRows(input.masks, (row, t) => klAt(row, t).value),
          shares,
        );
  const entropy = entropies === null ? 0 : aggregate(entropies, shares);
  return {
    kind: 'loss',
    loss: policy.loss - entropyCoefficient * entropy + coefficient * klLoss,
    gradient: buildRows(input.masks, (row, t, m) => {
      const own = at(rowAt(policy.gradient, row), t);
      return m === 0 ? own : own + coefficient * at(rowAt(shares, row), t) * klAt(row, t).slope;
    }),
    entropyGradient: shares.map((row) => row.map((share) => (share === 0 ? 0 : -entropyCoefficient * share))),
    metrics: { ...policy.metrics, policyLoss: policy.loss, klLoss, entropy },
  };
}
