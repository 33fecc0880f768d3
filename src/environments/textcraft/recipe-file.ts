import { z } from 'zod';

/** What a recipe takes: `count` of an item, or of one item of a tag. */
export interface Ingredient {
  readonly kind: 'item' | 'tag';
  readonly id: string;
  readonly count: bigint;
}

/** A crafting recipe as its file states it, before the rules of the world are applied. */
export interface RecipeFile {
  readonly ingredients: readonly Ingredient[];
  readonly result: { readonly id: string; readonly count: bigint };
  readonly group: string | null;
}

export type ParsedRecipeFile =
  | { readonly kind: 'recipe'; readonly recipe: RecipeFile }
  | { readonly kind: 'ignored'; readonly type: string }
  | { readonly kind: 'malformed'; readonly reason: string };

const named = z.union([
  z.object({ item: z.string().min(1) }).transform(({ item }) => ({ kind: 'item' as const, id: item })),
  z.object({ tag: z.string().min(1) }).transform(({ tag }) => ({ kind: 'tag' as const, id: tag })),
]);
// Of alternatives only the first counts.
const choice = z.union([named, z.tuple([named], z.unknown()).transform(([first]) => first)]);

const result = z.union([
  z
    .string()
    .min(1)
    .transform((id) => ({ id, count: 1n })),
  // A count of 0 reads as 1, as in the original.
  z
    .object({ item: z.string().min(1), count: z.int().min(0).optional() })
    .transform((r) => ({ id: r.item, count: BigInt(r.count || 1) })),
]);
const common = { result, group: z.string().optional() };
const shaped = z.object({ ...common, pattern: z.array(z.string()), key: z.record(z.string().min(1), choice) });
const shapeless = z.object({ ...common, ingredients: z.array(choice) });

/**
 * Parses a recipe file (data-pack format of 1.16). Types other than shaped and shapeless crafting are ignored. Symbols of `key`
 * keep their order, save that JavaScript lists digits first.
 */
export function parseRecipeFile(json: unknown): ParsedRecipeFile {
  const typed = z.object({ type: z.string() }).safeParse(json);
  if (!typed.success) return malformed(typed.error);
  switch (typed.data.type) {
    case 'minecraft:crafting_shaped': {
      const parsed = shaped.safeParse(json);
      return parsed.success ? recipeOf(parsed.data, countSymbols(parsed.data)) : malformed(parsed.error);
    }
    case 'minecraft:crafting_shapeless': {
      const parsed = shapeless.safeParse(json);
      return parsed.success ? recipeOf(parsed.data, mergeEqual(parsed.data.ingredients)) : malformed(parsed.error);
    }
    default:
      return { kind: 'ignored', type: typed.data.type };
  }
}

function recipeOf(
  data: { result: RecipeFile['result']; group?: string | undefined },
  ingredients: readonly Ingredient[],
): ParsedRecipeFile {
  if (ingredients.length === 0) return { kind: 'malformed', reason: 'a recipe needs at least one ingredient' };
  return { kind: 'recipe', recipe: { ingredients, result: data.result, group: data.group ?? null } };
}

function countSymbols({ pattern, key }: z.infer<typeof shaped>): Ingredient[] {
  return Object.entries(key).map(([symbol, ingredient]) => ({
    ...ingredient,
    count: pattern.reduce((sum, line) => sum + BigInt(line.split(symbol).length - 1), 0n),
  }));
}

function mergeEqual(ingredients: z.infer<typeof shapeless>['ingredients']): Ingredient[] {
  const byId = new Map<string, Ingredient>();
  for (const ingredient of ingredients) {
    // Merging is by id alone and the last kind wins: a tag and an item of one id are one ingredient, as in the original.
    byId.set(ingredient.id, { ...ingredient, count: (byId.get(ingredient.id)?.count ?? 0n) + 1n });
  }
  return [...byId.values()];
}

function malformed(error: z.ZodError): ParsedRecipeFile {
  return { kind: 'malformed', reason: z.prettifyError(error).replaceAll(/\s+/g, ' ') };
}
