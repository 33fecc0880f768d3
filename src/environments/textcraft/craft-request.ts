import { pythonStrip } from '../../domain/text/python-strip.ts';
import { idOf } from './names.ts';
import type { Ingredient } from './recipe-file.ts';
import type { Recipe, World } from './world.ts';

/** A `craft` command as understood. `outputCount` is only repeated in an error: the recipe decides how many there will be. */
export interface CraftRequest {
  readonly kind: 'craft';
  readonly output: Named;
  readonly outputCount: bigint;
  readonly inputs: readonly Ingredient[];
}

interface Named {
  readonly kind: 'item' | 'tag';
  readonly id: string;
}

const CRAFT = /^craft ([^\n]*) using ([^\n]*)/;
const COUNTED = /^([0-9]{1,4300}) ([^\n]*)/;

/** Reads a `craft` command; null when the text is none, `malformed` with the first input that is not `<number> <name>`. */
export function readCraft(
  world: World,
  action: string,
): CraftRequest | { readonly kind: 'malformed'; readonly part: string } | null {
  const [, made, used] = CRAFT.exec(action) ?? [];
  if (made === undefined || used === undefined) return null;

  const [, outputCount, outputName] = COUNTED.exec(made) ?? [];
  const inputs: Ingredient[] = [];
  for (const part of used.split(',').map(pythonStrip)) {
    const [, count, name] = COUNTED.exec(part) ?? [];
    if (count === undefined || name === undefined) return { kind: 'malformed', part };
    inputs.push({ ...read(world, name), count: BigInt(count) });
  }
  return { kind: 'craft', output: read(world, outputName ?? made), outputCount: BigInt(outputCount ?? 1), inputs };
}

/** Finds the first recipe of the requested item that takes exactly the inputs given; a tag takes one item of its kind. */
export function findRecipe(world: World, { output, inputs }: CraftRequest): Recipe | null {
  if (output.kind === 'tag') return null;
  return world.recipesByItem.get(output.id)?.find((recipe) => takesExactly(world, recipe, inputs)) ?? null;
}

function takesExactly(world: World, recipe: Recipe, inputs: readonly Ingredient[]): boolean {
  const left = [...inputs];
  for (const ingredient of recipe.ingredients) {
    // The first input of the right kind is taken, and its count must be right: another one further on is not tried.
    const at = left.findIndex((input) => isOfKind(world, ingredient, input));
    if (at < 0 || left[at]?.count !== ingredient.count) return false;
    left.splice(at, 1);
  }
  return left.length === 0;
}

function isOfKind(world: World, wanted: Ingredient, given: Ingredient): boolean {
  if (wanted.kind === 'item') return given.kind === 'item' && given.id === wanted.id;
  return given.kind === 'tag' ? given.id === wanted.id : world.tagOfItem.get(given.id) === wanted.id;
}

function read(world: World, name: string): Named {
  const id = idOf(name);
  return { kind: world.tags.has(id) ? 'tag' : 'item', id };
}
