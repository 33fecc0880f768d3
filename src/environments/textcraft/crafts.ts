import type { Inventory } from './act.ts';
import { findRecipe, readCraft } from './craft-request.ts';
import { nameOf } from './names.ts';
import type { Ingredient } from './recipe-file.ts';
import type { Recipe, World } from './world.ts';

/** One way to execute a recipe: each tag settled on one item of its kind. */
export interface Craft {
  readonly command: string;
  /** What it consumes in all, per item. */
  readonly consumes: ReadonlyMap<string, bigint>;
  readonly makes: { readonly item: string; readonly count: bigint };
}

const WAYS_LIMIT = 4096; // per recipe; the published pack has at most a few dozen

// Every task that shows a recipe asks for its crafts again: to open all tasks once took 0.5 s, most of it here.
const known = new WeakMap<World, Map<Recipe, readonly Craft[]>>();

/**
 * Lists the ways to execute a recipe of the world. A way is kept only when its command, read back, finds this very recipe: an
 * earlier recipe can shadow it, and some ids have no name that leads back to them.
 */
export function craftsOf(world: World, recipe: Recipe): readonly Craft[] {
  const ofWorld = known.get(world) ?? new Map<Recipe, readonly Craft[]>();
  known.set(world, ofWorld);
  const crafts = ofWorld.get(recipe) ?? findCrafts(world, recipe);
  ofWorld.set(recipe, crafts);
  return crafts;
}

function findCrafts(world: World, recipe: Recipe): readonly Craft[] {
  const choices = recipe.ingredients.map((ingredient) => itemsFor(world, ingredient));
  const crafts: Craft[] = [];
  for (const items of combinations(choices)) {
    if (crafts.length === WAYS_LIMIT) break;
    const inputs = recipe.ingredients.map(({ count }, i) => ({ id: items[i] ?? '', count })); // one item for each ingredient
    const command = `craft ${recipe.output.count} ${nameOf(recipe.output.item)} using ${inputs.map((i) => `${i.count} ${nameOf(i.id)}`).join(', ')}`;
    const request = readCraft(world, command);
    if (request?.kind !== 'craft' || findRecipe(world, request) !== recipe) continue;
    if (!request.inputs.every((input, i) => input.kind === 'item' && input.id === inputs[i]?.id)) continue;
    crafts.push({ command, consumes: sum(inputs), makes: recipe.output });
  }
  return crafts;
}

/** Returns whether an inventory holds all that a craft consumes; an amount of 0 must be held too. */
export function isAffordable(craft: Craft, inventory: Inventory): boolean {
  for (const [id, count] of craft.consumes) if ((inventory.get(id) ?? -1n) < count) return false;
  return true;
}

/** Lists the items that an ingredient accepts, in order of loading. */
export function itemsFor(world: World, { kind, id }: Ingredient): readonly string[] {
  if (kind === 'item') return [id];
  return [...world.tagOfItem].filter(([, tag]) => tag === id).map(([item]) => item);
}

function* combinations(choices: readonly (readonly string[])[]): Iterable<readonly string[]> {
  const [first, ...rest] = choices;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const item of first) for (const others of combinations(rest)) yield [item, ...others];
}

function sum(inputs: readonly { readonly id: string; readonly count: bigint }[]): ReadonlyMap<string, bigint> {
  const totals = new Map<string, bigint>();
  for (const { id, count } of inputs) totals.set(id, (totals.get(id) ?? 0n) + count);
  return totals;
}
