import { largest, smallest } from '../../domain/extremes.ts';
import { recipesFor, type World } from './world.ts';

export interface Goal {
  readonly item: string;
  /** How many crafts lie on top of each other at least. */
  readonly depth: number;
}

/**
 * Lists the goals in index order: every item that can be crafted, by depth, and in order of loading within a depth. A task's
 * alias is the index. An item that only a cycle through tags could make is no goal.
 */
export function listGoals(world: World): readonly Goal[] {
  const depthOf = minimalDepths(world);
  return [...world.recipesByItem.keys()]
    .map((item) => ({ item, depth: depthOf(item) }))
    .filter(({ depth }) => depth >= 1 && depth < Number.POSITIVE_INFINITY)
    .sort((a, b) => a.depth - b.depth);
}

/**
 * Finds the goal of a data index as AgentGym does: the index wraps around. @throws RangeError when there is no goal or no such
 * index.
 */
export function goalAt(goals: readonly Goal[], dataIndex: number): Goal {
  const goal = goals[dataIndex % goals.length];
  if (goal === undefined) throw new RangeError(`no goal at ${dataIndex} among ${goals.length}`);
  return goal;
}

/**
 * Measures depths: 0 for what no recipe makes, else the least over recipes of the deepest ingredient plus one; infinite where
 * every recipe needs its own result. Computed by repeated relaxation and not by recursion, since tags can leave cycles that the
 * pruning of names does not see.
 */
export function minimalDepths(world: World): (id: string) => number {
  const craftable = new Set([...world.recipesByItem.keys(), ...world.recipesByTag.keys()]);
  const depths = new Map<string, number>();
  const depthOf = (id: string): number => depths.get(id) ?? (craftable.has(id) ? Number.POSITIVE_INFINITY : 0);
  for (let changed = true; changed; ) {
    changed = false;
    for (const id of craftable) {
      const depth = smallest(recipesFor(world, id).map((r) => 1 + largest(r.ingredients.map((i) => depthOf(i.id)))));
      if (depth >= depthOf(id)) continue;
      depths.set(id, depth);
      changed = true;
    }
  }
  return depthOf;
}
