import { at } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';

/** Lists the rows of each trajectory from its first step to its last; trajectories in the order in which they are first seen. */
export function orderTrajectories(trajectories: readonly string[], steps: ArrayLike<number>): readonly (readonly number[])[] {
  return [...positionsByKey(trajectories).values()].map((rows) => rows.sort((a, b) => at(steps, a) - at(steps, b)));
}
