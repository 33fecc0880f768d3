import { choiceOption, numberOption, refuseOption } from '../method-options.ts';
import { at, buildRows, type Masks, type Rows, rowAt, spreadScalars } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { maskedWhiten, standardise, sumOf } from '../statistics/masked.ts';
import { ANY_ROWS, closedGroups, defineEstimator } from './estimator.ts';
import { orderTrajectories, type StepOrder, stepReturns, tokenReturns } from './gae.ts';
import { centreOnGroup } from './group-baselines.ts';
import { findSplitTrajectory, gatherMembers, scoreRows, spreadMembers } from './members.ts';

/**
 * REINFORCE++ (Hu 2025): A = whiten(G)·m, returns = G. The default is the repaired sum; `shipped` loses the outcome before every
 * observation.
 */
export const reinforcePlusPlusEstimator = defineEstimator({
  name: 'reinforce_plus_plus',
  revision: '2', // 1 ended the sum at the end of a row
  options: {
    variant: choiceOption('repaired', 'shipped', 'compact'),
    gamma: numberOption(1, 0, 1),
    over: choiceOption('trajectories', 'rows'),
  },
  readiness: () => ({ ...ANY_ROWS, trainedTokens: 2 }),
  reach: () => 'batch',
  estimate({ rewards, masks, trajectories, steps }, { variant, gamma, over }) {
    const split = variant === 'shipped' && over === 'trajectories' ? findSplitTrajectory(trajectories) : null;
    if (split !== null)
      return refuseOption(`as shipped it knows whole rows only, and trajectory ${split} has several: choose over rows`);
    const returns = tokenReturns(rewards, masks, gamma, variant, over === 'rows' ? null : { trajectories, steps });
    return { advantages: multiply(maskedWhiten(returns, masks), masks), returns };
  },
});

/**
 * REINFORCE++-baseline: s − μ_g on every trained token, whitened over the batch; masked again from verl 0.4 on (`output:
 * masked`), not in Agent-R1 legacy.
 */
export const reinforcePlusPlusBaselineEstimator = defineEstimator({
  name: 'reinforce_plus_plus_baseline',
  revision: '1',
  options: {
    output: choiceOption('masked', 'unmasked'),
    over: choiceOption('trajectory-sums', 'rows'),
    singleton: choiceOption('raw', 'zero', 'forbidden'),
  },
  readiness: ({ singleton }) => ({ ...closedGroups(singleton), trainedTokens: 2 }),
  reach: () => 'batch',
  estimate(batch, { output, over, singleton }) {
    const { masks } = batch;
    const members = gatherMembers(over, scoreRows(batch.rewards, masks, 'all-tokens'), batch);
    const centred = spreadMembers(centreOnGroup(members.scores, members.groups, singleton), members);
    const whitened = maskedWhiten(spreadScalars(centred, masks), masks);
    const advantages = output === 'masked' ? multiply(whitened, masks) : whitened;
    return { advantages, returns: advantages };
  },
});

/** REINFORCE over steps (Agent-R1 v0.1): the discounted return of each step, whitened over the steps of the batch. */
export const reinforceStepEstimator = defineEstimator({
  name: 'reinforce_step',
  revision: '1',
  options: { gamma: numberOption(1, 0, 1) },
  readiness: () => ({ ...ANY_ROWS, trainedSteps: 2 }),
  reach: () => 'batch',
  estimate({ rewards, masks, trajectories, steps }, { gamma }) {
    const returns = stepReturns(scoreRows(rewards, masks, 'trained-tokens'), { trajectories, steps }, gamma);
    return { advantages: spreadScalars(standardise(returns), masks), returns: spreadScalars(returns, masks) };
  },
});

/** ReMax: the greedy rollout of the same prompt is the baseline. */
export const remaxEstimator = defineEstimator({
  name: 'remax',
  revision: '1',
  options: { over: choiceOption('trajectories', 'rows') },
  readiness: () => ({ ...ANY_ROWS, waitsFor: 'greedy-sibling', columns: ['greedyScores'] }),
  reach: () => 'group',
  estimate({ rewards, masks, greedyScores, trajectories, steps }, { over }) {
    if (greedyScores === null) return refuseOption('remax needs greedyScores');
    return greedyBaseline(rewards, masks, greedyScores, over === 'rows' ? null : { trajectories, steps });
  },
});

/** OTB: a baseline for every place of a trajectory, weighed by what its tokens add to the variance. */
export const optimalBaselineEstimator = defineEstimator({
  name: 'optimal_token_baseline',
  revision: '2', // 1 knew single rows
  options: {},
  readiness: () => ({ ...closedGroups('raw'), columns: ['oldLogProbs', 'squaredProbs'] }),
  reach: () => 'group',
  estimate({ oldLogProbs, squaredProbs, ...batch }) {
    if (oldLogProbs === null || squaredProbs === null) return refuseOption('it needs oldLogProbs and squaredProbs');
    return optimalBaseline({ ...batch, oldLogProbs, squaredProbs });
  },
});

function multiply(rows: Rows, masks: Masks): Float64Array[] {
  return rows.map((row, i) => row.map((value, t) => value * at(rowAt(masks, i), t)));
}

/**
 * ReMax (Li et al. 2024): returns are the reverse cumulative sum of r·m, A = returns − b·m, where b is the score of one greedy
 * rollout of the same prompt. A tool's token repeats the return of what follows it and has no baseline, as in verl.
 * @param order where rows are steps of one episode; null where each row is one.
 */
export function greedyBaseline(
  rewards: Rows,
  masks: Masks,
  greedyScores: ArrayLike<number>,
  order: StepOrder | null,
): { readonly advantages: Float64Array[]; readonly returns: Float64Array[] } {
  const returns = tokenReturns(rewards, masks, 1, 'repaired', order);
  const advantages = returns.map((row, i) => row.map((value, t) => value - at(greedyScores, i) * at(rowAt(masks, i), t)));
  return { advantages, returns };
}

interface OptimalBaselineInput {
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
