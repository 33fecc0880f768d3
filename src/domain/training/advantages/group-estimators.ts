import { choiceOption, numberOption } from '../method-options.ts';
import { at, type Masks, rowAt, spreadScalars } from '../rows/rows.ts';
import { type GroupMeasure, mapScores, measureGroups, positionsByKey, type Singleton } from '../statistics/groups.ts';
import { closedGroups, defineEstimator, type Estimated, type EstimatorBatch } from './estimator.ts';
import { groupPolicyGradient, leaveOneOut, lengthWeighted } from './group-baselines.ts';
import { gatherMembers, type Members, type MemberUnit, scoreRows, spreadMembers, sumTrajectories } from './members.ts';

const OVER = choiceOption('trajectory-sums', 'rows');
const KEEPING_SINGLETONS = choiceOption('raw', 'zero', 'forbidden');

/**
 * GRPO and Dr.GRPO (`scale: none`), over rows, trajectories, or sums of step rewards: see `group-relative.ts`. `scores:
 * trained-tokens` is Agent-R1 legacy's sum.
 */
export const grpoEstimator = defineEstimator({
  name: 'grpo',
  revision: '1',
  options: {
    over: choiceOption('trajectory-sums', 'rows', 'trajectories'),
    scale: choiceOption('std', 'none', 'floored-std'),
    scores: choiceOption('all-tokens', 'trained-tokens'),
    singleton: KEEPING_SINGLETONS,
  },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate({ rewards, masks, groups, trajectories }, options) {
    return spreadAll(groupRelative({ scores: scoreRows(rewards, masks, options.scores), groups, trajectories }, options), masks);
  },
});

/** Pass@k training. */
export const passAtKEstimator = defineEstimator({
  name: 'pass_at_k',
  revision: '1',
  options: { over: OVER, scale: choiceOption('std', 'none') },
  readiness: () => closedGroups('forbidden'),
  reach: () => 'group',
  estimate: (batch, { over, scale }) => compareMembers(batch, over, ({ scores, groups }) => passAtK(scores, groups, scale)),
});

/**
 * RLOO. Without another member there is nothing to compare with: a group of one is refused unless the run says what it should
 * give.
 */
export const rlooEstimator = defineEstimator({
  name: 'rloo',
  revision: '1',
  options: {
    over: OVER,
    scores: choiceOption('all-tokens', 'trained-tokens'),
    singleton: choiceOption('forbidden', 'raw', 'zero'),
  },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate: (batch, { over, scores: tokens, singleton }) =>
    compareMembers(batch, over, ({ scores, groups }) => leaveOneOut(scores, groups, singleton), tokens),
});

/** OPO: the length-weighted baseline. */
export const opoEstimator = defineEstimator({
  name: 'opo',
  revision: '1',
  options: { over: OVER, singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate: (batch, { over, singleton }) =>
    compareMembers(batch, over, ({ scores, groups, lengths }) => lengthWeighted(scores, groups, lengths, singleton)),
});

/** GPG: group-centred scores, scaled up by the share of members that carry a signal. */
export const gpgEstimator = defineEstimator({
  name: 'gpg',
  revision: '1',
  options: { over: OVER, fNorm: numberOption(1, 1e-6, 1e6), singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'batch',
  estimate: (batch, { over, ...options }) =>
    compareMembers(batch, over, ({ scores, groups }) => groupPolicyGradient(scores, groups, options)),
});

function compareMembers(
  batch: EstimatorBatch,
  over: MemberUnit,
  compare: (members: Members) => Float64Array,
  scored: Parameters<typeof scoreRows>[2] = 'all-tokens',
): Omit<Estimated, 'kind'> {
  const members = gatherMembers(over, scoreRows(batch.rewards, batch.masks, scored), batch);
  return spreadAll(spreadMembers(compare(members), members), batch.masks);
}

/** Estimators of an outcome have no returns of their own: upstream returns the advantages again. */
function spreadAll(scalars: Float64Array, masks: Masks): Omit<Estimated, 'kind'> {
  const advantages = spreadScalars(scalars, masks);
  return { advantages, returns: advantages };
}

/** What verl adds to a deviation before it divides by it. */
const GROUP_EPSILON = 1e-6;

/**
 * What a centred score is divided by: `std` + 1e-6 (GRPO), nothing (`none`: Dr.GRPO, Liu et al. 2025), or `floored-std` =
 * sqrt(max(var, 1e-6)) + 1e-6, verl's vectorised form, which shrinks groups of low variance (verl issue 6348).
 */
export type Scale = 'std' | 'none' | 'floored-std';

/**
 * Over what the mean and deviation of a group are taken. `rows`: every row is an entry; when rows are steps that carry their
 * episode's score, long episodes weigh more (verl, and verl-agent's default). `trajectories`: each trajectory's score counts
 * once, each row keeps its own (verl-agent, compute_mean_std_cross_steps = false). `trajectory-sums`: the rows' scores are step
 * rewards; they are summed per trajectory first and every row gets its trajectory's advantage (Agent-R1 v0.1).
 */
type GroupedOver = 'rows' | 'trajectories' | 'trajectory-sums';

export interface GroupInput {
  /** One score for each row. */
  readonly scores: ArrayLike<number>;
  readonly groups: readonly string[];
  readonly trajectories: readonly string[];
}

interface GroupRelativeOptions {
  readonly over: GroupedOver;
  readonly scale: Scale;
  readonly singleton: Singleton;
}

/** GRPO (Shao et al. 2024, §4.1.2): A = (s − μ_g)/(σ_g + 1e-6), σ unbiased; a group without variance yields 0. */
export function groupRelative({ scores, groups, trajectories }: GroupInput, options: GroupRelativeOptions): Float64Array {
  const relate = (s: number, { mean, deviation }: GroupMeasure): number => {
    return (s - mean) / divisor(options.scale, deviation);
  };
  if (options.over === 'rows') return mapScores(scores, groups, measureGroups(scores, groups, options.singleton), relate);

  const firsts = [...positionsByKey(trajectories).entries()].map(([trajectory, rows]) => ({ trajectory, first: at(rows, 0) }));
  const memberGroups = firsts.map(({ first }) => rowAt(groups, first));
  if (options.over === 'trajectories') {
    const measures = measureGroups(
      Float64Array.from(firsts, ({ first }) => at(scores, first)),
      memberGroups,
      options.singleton,
    );
    return mapScores(scores, groups, measures, relate);
  }
  const totals = sumTrajectories(scores, trajectories);
  // every trajectory was summed
  const summed = Float64Array.from(trajectories, (trajectory) => totals.get(trajectory) ?? Number.NaN);
  const members = firsts.map(({ first }) => at(summed, first));
  return mapScores(summed, groups, measureGroups(members, memberGroups, options.singleton), relate);
}

/** What a centred score is divided by. */
export function divisor(scale: Scale, deviation: number): number {
  if (scale === 'none') return 1;
  return (scale === 'std' ? deviation : Math.sqrt(Math.max(deviation ** 2, GROUP_EPSILON))) + GROUP_EPSILON;
}

/**
 * Pass@k training: only the best row of a group counts, A = (s₁ − s₂)/(σ + 1e-6), or undivided; ties give 0. Source: verl
 * `grpo_passk`.
 * @throws RangeError for a group of one, which has no second.
 */
export function passAtK(scores: ArrayLike<number>, groups: readonly string[], scale: 'std' | 'none'): Float64Array {
  const measures = measureGroups(scores, groups, 'forbidden');
  const advantages = new Float64Array(scores.length);
  for (const [group, rows] of positionsByKey(groups)) {
    const [best, second] = rows.toSorted((a, b) => at(scores, b) - at(scores, a) || a - b);
    const measure = measures.get(group);
    if (best === undefined || second === undefined || measure === undefined) continue; // a group of one threw above
    advantages[best] = (at(scores, best) - at(scores, second)) / divisor(scale, measure.deviation);
  }
  return advantages;
}
