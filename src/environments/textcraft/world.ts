import { groupBy } from '../../domain/group-by.ts';
import type { Ingredient, RecipeFile } from './recipe-file.ts';

/** A recipe of the world. `output.tag` is the kind of thing it makes, as its file's group says. */
export interface Recipe {
  readonly ingredients: readonly Ingredient[];
  readonly output: { readonly item: string; readonly tag: string | null; readonly count: bigint };
}

/**
 * All that determines the dynamics: what can be made of what, and which names are items or tags. Maps keep the order of loading.
 */
export interface World {
  readonly recipesByItem: ReadonlyMap<string, readonly Recipe[]>;
  readonly recipesByTag: ReadonlyMap<string, readonly Recipe[]>;
  readonly items: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly tagOfItem: ReadonlyMap<string, string>;
  /** What each result was known to need when its recipe was loaded; the pruning of cycles looks here. */
  readonly dependencies: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Builds the world from recipes in listing order. The order matters: a recipe that closes a cycle with earlier ones is dropped,
 * so another order keeps other recipes and has other goals (agent-r §7.2, §7.6).
 */
export function buildWorld(files: readonly RecipeFile[]): World {
  const items = new Set<string>();
  const tags = new Set<string>();
  const tagOfItem = new Map<string, string>();
  const dependencies = new Map<string, Set<string>>();
  const survivors: Recipe[] = [];

  for (const { ingredients, result, group } of files) {
    for (const { kind, id } of ingredients) (kind === 'item' ? items : tags).add(id);
    items.add(result.id);
    if (ingredients.length === 1 && ingredients[0]?.id.endsWith('_block')) continue;

    const tag = group === null ? null : `minecraft:${group}`;
    if (tag !== null && tag !== result.id) {
      tags.add(tag);
      tagOfItem.set(result.id, tag);
    }

    const needs = dependencies.get(result.id) ?? new Set();
    dependencies.set(result.id, needs);
    if (ingredients.some(({ id }) => dependencies.get(id)?.has(result.id))) continue;
    for (const { id } of ingredients) {
      needs.add(id);
      for (const deeper of dependencies.get(id) ?? []) needs.add(deeper);
    }
    survivors.push({ ingredients, output: { item: result.id, tag, count: result.count } });
  }

  const craftable = new Set(survivors.map(({ output }) => output.item));
  const itemised = findUncraftableTags(survivors, tagOfItem, craftable);
  for (const id of itemised) {
    tags.delete(id);
    items.add(id);
  }
  const recipes = survivors.map((recipe) => ({ ...recipe, ingredients: recipe.ingredients.map((i) => itemise(i, itemised)) }));
  return {
    recipesByItem: groupBy(recipes, ({ output }) => output.item),
    recipesByTag: groupBy(
      recipes.filter(({ output }) => output.tag !== null),
      ({ output }) => output.tag ?? '',
    ),
    items,
    tags,
    tagOfItem,
    dependencies,
  };
}

/** A tag that no recipe's result belongs to cannot be made; it becomes an item of the same id, so that it can be gotten. */
function findUncraftableTags(
  recipes: readonly Recipe[],
  tagOfItem: ReadonlyMap<string, string>,
  craftable: ReadonlySet<string>,
): Set<string> {
  const craftableTags = new Set<string>();
  for (const [item, tag] of tagOfItem) if (craftable.has(item)) craftableTags.add(tag);
  const used = recipes.flatMap(({ ingredients }) => ingredients.filter(({ kind }) => kind === 'tag'));
  return new Set(used.map(({ id }) => id).filter((id) => !craftableTags.has(id)));
}

function itemise(ingredient: Ingredient, ids: ReadonlySet<string>): Ingredient {
  return ingredient.kind === 'tag' && ids.has(ingredient.id) ? { ...ingredient, kind: 'item' } : ingredient;
}

/** Finds the recipes for a name, be it an item or, failing that, a tag. */
export function recipesFor(world: World, id: string): readonly Recipe[] {
  return world.recipesByItem.get(id) ?? world.recipesByTag.get(id) ?? [];
}
