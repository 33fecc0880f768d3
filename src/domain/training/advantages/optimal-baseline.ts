import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { sumOf } from '../statistics/sum.ts';
import { tokenReturns } from './discounted-returns.ts';
import { orderTrajectories } from './trajectory-order.ts';

export interface OptimalBaselineInput {
  readonly rewards: Rows;
  readonly masks: Masks;
  readonly groups: readonly string[];
  readonly trajectories: readonly string[];
  readonly steps: ArrayLike<number>;
  /** log π of each token at the start of the update. */
  readonly oldLogProbs: Rows;
  /** Σ π² over the whole distribution that each token was drawn from. */
  readonly squaredProbs: Rows;
  /** Importance weights ρ̄ of the rollout correction; null for none. */
  readonly rolloutWeights: Rows | null;
}

/**
 * The optimal token baseline (verl 0.9, `tir_optimal_token_baseline`): what the gradient's variance is lowest with, place by
 * place. Place t of a trajectory is its t-th trained token, over all its rows. w_t = 1 − 2π_t + Σπ² is the squared norm of a
 * token's score function (times ρ̄²), W_t its cumulative sum; the baseline of place t is Σ G_t·W_t / (Σ W_t + 1e-8) over the
 * trajectories of the group that come as far; A = G − baseline. Baseline 0 has a group of one, and the part of the one longest
 * trajectory that is beyond the second longest: alone it would be its own baseline.
 */
export function optimalBaseline(input: OptimalBaselineInput): {
  readonly advantages: Float64Array[];
  readonly returns: Float64Array[];
} {
  const { rewards, masks, groups, trajectories, steps } = input;
  const returns = tokenReturns(rewards, masks, 1, 'repaired', { trajectories, steps });
  const baselines = masks.map((mask) => new Float64Array(mask.length));
  const paths = orderTrajectories(trajectories, steps).map((rows) => placesOf(rows, input, returns));
  const trained = paths.filter(({ places }) => places.length > 0);
  for (const members of positionsByKey(trained.map(({ row }) => rowAt(groups, row))).values()) {
    const group = members.map((member) => (trained[member] as Path).places); // positions of `trained`
    const [longest = 0, second = 0] = group.map(({ length }) => length).sort((a, b) => b - a);
    for (let t = 0; t < Math.min(longest, second); t++) {
      const there = group.flatMap((places) => places[t] ?? []);
      const weighted = sumOf(there.map(({ gain, variance }) => gain * variance));
      const baseline = weighted / (sumOf(there.map(({ variance }) => variance)) + 1e-8);
      for (const { row, column } of there) rowAt(baselines, row)[column] = baseline;
    }
  }
  const advantages = buildRows(masks, (row, t, m) => (at(rowAt(returns, row), t) - at(rowAt(baselines, row), t)) * m);
  return { advantages, returns };
}

/** A trajectory by its first row, and its trained tokens in order. */
interface Path {
  readonly row: number;
  readonly places: readonly Place[];
}

interface Place {
  readonly row: number;
  readonly column: number;
  readonly gain: number;
  /** Cumulative: of this token and those before it. */
  readonly variance: number;
}

function placesOf(
  rows: readonly number[],
  { masks, oldLogProbs, squaredProbs, rolloutWeights }: OptimalBaselineInput,
  returns: Rows,
): Path {
  let variance = 0;
  const places = rows.flatMap((row) =>
    Array.from(rowAt(masks, row)).flatMap((m, column): readonly Place[] => {
      if (m === 0) return [];
      const weight = rolloutWeights === null ? 1 : at(rowAt(rolloutWeights, row), column);
      const own = 1 - 2 * Math.exp(at(rowAt(oldLogProbs, row), column)) + at(rowAt(squaredProbs, row), column);
      variance += own * weight ** 2;
      return [{ row, column, gain: at(rowAt(returns, row), column), variance }];
    }),
  );
  return { row: at(rows, 0), places };
}
