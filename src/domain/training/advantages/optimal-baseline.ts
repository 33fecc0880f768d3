import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { sumOf } from '../statistics/sum.ts';
import { tokenReturns } from './discounted-returns.ts';

export interface OptimalBaselineInput {
  readonly rewards: Rows;
  readonly masks: Masks;
  readonly groups: readonly string[];
  /** log π of each token at the start of the update. */
  readonly oldLogProbs: Rows;
  /** Σ π² over the whole distribution that each token was drawn from. */
  readonly squaredProbs: Rows;
  /** Importance weights ρ̄ of the rollout correction; null for none. */
  readonly rolloutWeights: Rows | null;
}

/**
 * The optimal token baseline (verl 0.8): what the gradient's variance is lowest with, place by place. w_t = 1 − 2π_t + Σπ² is the
 * squared norm of a token's score function (times ρ̄²), W_t its cumulative sum over trained tokens; the baseline of place t is Σ
 * G_t·W_t / (Σ W_t + 1e-8) over the rows of the group that trained a token there; A = (G − baseline)·m. A group of one has the
 * baseline 0.
 */
export function optimalBaseline(input: OptimalBaselineInput): {
  readonly advantages: Float64Array[];
  readonly returns: Float64Array[];
} {
  const { rewards, masks, groups } = input;
  const returns = tokenReturns(rewards, masks, 1, 'repaired', null);
  const variances = cumulativeVariances(input);
  const baselines = masks.map((mask) => new Float64Array(mask.length));
  for (const rows of positionsByKey(groups).values()) {
    if (rows.length === 1) continue;
    const width = rows.reduce((most, row) => Math.max(most, rowAt(masks, row).length), 0);
    for (let t = 0; t < width; t++) {
      const trained = rows.filter((row) => rowAt(masks, row)[t] === 1);
      const total = sumOf(trained.map((row) => at(rowAt(variances, row), t)));
      const weighted = sumOf(trained.map((row) => at(rowAt(returns, row), t) * at(rowAt(variances, row), t)));
      for (const row of trained) rowAt(baselines, row)[t] = weighted / (total + 1e-8);
    }
  }
  const advantages = buildRows(masks, (row, t, m) => (at(rowAt(returns, row), t) - at(rowAt(baselines, row), t)) * m);
  return { advantages, returns };
}

function cumulativeVariances({ masks, oldLogProbs, squaredProbs, rolloutWeights }: OptimalBaselineInput): Float64Array[] {
  return masks.map((mask, row) => {
    let sum = 0;
    return Float64Array.from(mask, (m, t) => {
      if (m === 0) return sum;
      const weight = rolloutWeights === null ? 1 : at(rowAt(rolloutWeights, row), t);
      const variance = 1 - 2 * Math.exp(at(rowAt(oldLogProbs, row), t)) + at(rowAt(squaredProbs, row), t);
      sum += variance * weight ** 2;
      return sum;
    });
  });
}
