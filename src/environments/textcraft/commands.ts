import type { Random } from '../../domain/random/random.ts';
import { nameOf } from './names.ts';
import { type Recipe, recipesFor, type World } from './world.ts';

export const DISTRACTOR_LIMIT = 10; // as in AgentGym, so that prompts have the published length

/** Writes a recipe as the command that executes it. */
export function commandOf({ ingredients, output }: Recipe): string {
  const parts = ingredients.map(({ count, id }) => `${count} ${nameOf(id)}`);
  return `craft ${output.count} ${nameOf(output.item)} using ${parts.join(', ')}`;
}

/**
 * Chooses the recipes that a task shows: all that the goal may need, and at most ten that lead astray, in random order. The
 * choice and the order depend on nothing but the world, the goal and the stream of draws.
 */
export function chooseShownRecipes(world: World, goal: string, random: Random): readonly Recipe[] {
  const required = requiredRecipes(world, goal);
  const distractors = random.shuffle(distractorCandidates(world, required)).slice(0, DISTRACTOR_LIMIT);
  return random.shuffle([...required, ...distractors]);
}

/** Collects the recipes with distinct commands that can be reached from a goal by descending through ingredients. */
export function requiredRecipes(world: World, goal: string): readonly Recipe[] {
  const visited = new Set<string>();
  const found: Recipe[] = [];
  const visit = (id: string): void => {
    if (visited.has(id)) return;
    visited.add(id);
    const recipes = recipesFor(world, id);
    for (const each of recipes) found.push(each);
    for (const recipe of recipes) for (const ingredient of recipe.ingredients) visit(ingredient.id);
  };
  visit(goal);
  return distinct(found, new Set());
}

/**
 * Lists the commands below a goal as the original walks them: a name is met again on every path that leads to it. For conformance
 * only.
 */
export function traversalOrder(world: World, goal: string, path: ReadonlySet<string> = new Set()): readonly string[] {
  if (path.has(goal)) return [];
  const recipes = recipesFor(world, goal);
  const deeper = new Set([...path, goal]);
  return [
    ...recipes.map(commandOf),
    ...recipes.flatMap(({ ingredients }) => ingredients.flatMap(({ id }) => traversalOrder(world, id, deeper))),
  ];
}

/** Collects the recipes that also use an ingredient of the required ones, without those. */
export function distractorCandidates(world: World, required: readonly Recipe[]): readonly Recipe[] {
  const wanted = new Set(required.flatMap(({ ingredients }) => ingredients.map(({ id }) => id)));
  const users = [...world.recipesByItem.values()]
    .flat()
    .filter(({ ingredients }) => ingredients.some(({ id }) => wanted.has(id)));
  return distinct(users, new Set(required.map(commandOf)));
}

function distinct(recipes: readonly Recipe[], seen: Set<string>): readonly Recipe[] {
  return recipes.filter((recipe) => {
    const command = commandOf(recipe);
    if (seen.has(command)) return false;
    seen.add(command);
    return true;
  });
}
