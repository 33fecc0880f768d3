import { centreOnGroup, leaveOneOut } from '../../../src/domain/training/advantages/group-baselines.ts';
import { groupRelative } from '../../../src/domain/training/advantages/group-estimators.ts';

/** Estimators that compare the returns of a group alone, by the functions that trainers call. */
const COMPARING = {
  grpo: (returns) => relative(returns, 'std'),
  'dr-grpo': (returns) => relative(returns, 'none'),
  rloo: (returns) => leaveOneOut(returns, oneGroup(returns), 'zero'),
  'reinforce++-baseline, not whitened': (returns) => centreOnGroup(returns, oneGroup(returns), 'zero'),
} as const satisfies Record<string, (returns: readonly number[]) => Float64Array>;

export const ESTIMATORS = Object.keys(COMPARING);

/** Returns the advantages of the returns of one group by an estimator; null for a name that is none of `ESTIMATORS`. */
export function advantagesBy(name: string | undefined, returns: readonly number[]): Float64Array | null {
  const [, compare] = Object.entries(COMPARING).find(([each]) => each === name) ?? [];
  return compare && returns.length > 0 ? compare(returns) : null;
}

function relative(returns: readonly number[], scale: 'std' | 'none'): Float64Array {
  const trajectories = returns.map((_, place) => String(place));
  const options = { over: 'trajectories', scale, singleton: 'zero' } as const;
  return groupRelative({ scores: returns, groups: oneGroup(returns), trajectories }, options);
}

function oneGroup(returns: readonly number[]): readonly string[] {
  return returns.map(() => 'group');
}
