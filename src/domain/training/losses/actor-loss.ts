import { type KlKind, type KlLogRatios, tokenKl } from '../kl/kl-penalty.ts';
import type { RefusedOption } from '../method-options.ts';
import { at, buildRows, type Rows, rowAt } from '../rows/rows.ts';
import { sumOf } from '../statistics/masked.ts';
import {
  type Aggregation,
  aggregate,
  aggregationWeights,
  type ConfiguredPolicyLoss,
  type PolicyLossInput,
} from './policy-loss.ts';

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
): ActorLoss | RefusedOption {
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

/** log softmax of one token's logits, by the largest logit so that nothing overflows. */
export function logSoftmax(logits: ArrayLike<number>): Float64Array {
  const all = Float64Array.from(logits);
  const top = all.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const log = top + Math.log(sumOf(all.map((z) => Math.exp(z - top))));
  return all.map((z) => z - log);
}

/** H = logsumexp(z) − Σ softmax(z)·z, in nats. */
export function entropyOfLogits(logits: ArrayLike<number>): number {
  return -sumOf(logSoftmax(logits).map((log) => (log === Number.NEGATIVE_INFINITY ? 0 : Math.exp(log) * log)));
}

/** dH/dz_j = −p_j·(log p_j + H). */
export function entropyGradient(logits: ArrayLike<number>): Float64Array {
  const logs = logSoftmax(logits);
  const entropy = entropyOfLogits(logits);
  return logs.map((log) => (log === Number.NEGATIVE_INFINITY ? 0 : -Math.exp(log) * (log + entropy)));
}

/** d log p_chosen / dz_j = 1[j = chosen] − p_j: from the slope of a token's log-prob to that of its logits. */
export function logProbGradient(logits: ArrayLike<number>, chosen: number): Float64Array {
  const logs = logSoftmax(logits);
  at(logs, chosen);
  return logs.map((log, j) => (j === chosen ? 1 : 0) - Math.exp(log));
}
