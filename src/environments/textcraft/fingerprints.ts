import { sha256Hex } from '../../digest/sha256.ts';
import type { Inventory } from './act.ts';
import type { RecipeFile } from './recipe-file.ts';

/** Raised when the rules change what a task is or how the world answers: trees of different revisions are never merged. */
export const RULES_REVISION = 1;

/**
 * Hashes what determines tasks and dynamics: the crafting recipes in listing order and the revision of the rules. File names and
 * ignored types do not count.
 */
export function worldFingerprint(recipes: readonly RecipeFile[]): string {
  const canonical = recipes.map(({ ingredients, result, group }) => [
    ingredients.map(({ kind, id, count }) => [kind, id, String(count)]),
    [result.id, String(result.count)],
    group,
  ]);
  return sha256Hex(JSON.stringify(['textcraft', RULES_REVISION, canonical]));
}

/**
 * Hashes a situation: world, goal and what is carried, by item id. The order of acquisition is left out although `inventory`
 * shows it: no action distinguishes two such situations in any other way, and equal ones must meet when steps are grouped by
 * state.
 */
export function stateFingerprint(world: string, goal: string, inventory: Inventory): string {
  const carried = [...inventory].map(([id, amount]) => [id, String(amount)]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return sha256Hex(JSON.stringify([world, goal, carried]));
}

/**
 * Puts every fifth goal, by hash, into the `test` split and the others into `train`. Only the goal's id is hashed, so a goal
 * stays on its side when the recipes around it change and its index moves.
 */
export function splitByHash(goal: string): 'train' | 'test' {
  return Number.parseInt(sha256Hex(JSON.stringify(['textcraft-split', goal])).slice(0, 8), 16) % 5 === 0 ? 'test' : 'train';
}
