import type { Recipe, World } from './world.ts';

export interface LeakyReset {
  /** The world as it is afterwards: every list that was walked has taken in what lies below it. */
  readonly world: World;
  /** What the walk from the goal yields, in its order; a recipe occurs as often as it was met. */
  readonly walked: readonly Recipe[];
}

const MOST_RECIPES = 10_000_000; // beyond it the published server, too, has no memory left to speak of

/**
 * Resets a task as AgentGym's server of 2025-03 does (agent-r §7.5): its walk below the goal appends to the very lists that it
 * walks, and those are the database. They grow with every reset, the same task shows other commands, and a leaked recipe can be
 * executed under the name it leaked to. The given world stays as it is. For conformance: our own environment never leaks. @throws
 * RangeError when the lists outgrow a machine.
 */
export function resetLeakily(world: World, goal: string): LeakyReset {
  const recipesByItem = copyLists(world.recipesByItem);
  const recipesByTag = copyLists(world.recipesByTag);
  let left = MOST_RECIPES;
  const walk = (id: string, above: ReadonlySet<string>): readonly Recipe[] => {
    if (above.has(id)) return [];
    const list = recipesByItem.get(id) ?? recipesByTag.get(id) ?? [];
    const path = new Set([...above, id]);
    // What is appended below is walked as well: that is the leak. The list itself cannot come back from below, being on the path.
    for (const { ingredients } of list) {
      for (const ingredient of ingredients) {
        for (const recipe of walk(ingredient.id, path)) {
          if (--left < 0) throw new RangeError(`the recipe lists below ${goal} grow beyond ${MOST_RECIPES} entries`);
          list.push(recipe);
        }
      }
    }
    return list;
  };
  const walked = walk(goal, new Set());
  return { world: { ...world, recipesByItem, recipesByTag }, walked: [...walked] };
}

/** Counts the entries of the lists by item: what grows in a leaking world. */
export function countRecipes({ recipesByItem }: Pick<World, 'recipesByItem'>): number {
  let count = 0;
  for (const list of recipesByItem.values()) count += list.length;
  return count;
}

function copyLists(lists: ReadonlyMap<string, readonly Recipe[]>): Map<string, Recipe[]> {
  return new Map([...lists].map(([id, list]) => [id, [...list]]));
}
