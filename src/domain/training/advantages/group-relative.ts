import { at, rowAt } from '../rows/rows.ts';
import { type GroupMeasure, mapScores, measureGroups, positionsByKey, type Singleton } from '../statistics/groups.ts';
import { sumTrajectories } from './row-scores.ts';

/** What verl adds to a deviation before it divides by it. */
export const GROUP_EPSILON = 1e-6;

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
export type GroupedOver = 'rows' | 'trajectories' | 'trajectory-sums';

export interface GroupInput {
  /** One score for each row. */
  readonly scores: ArrayLike<number>;
  readonly groups: readonly string[];
  readonly trajectories: readonly string[];
}

export interface GroupRelativeOptions {
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
