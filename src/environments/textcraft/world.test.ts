import { describe, expect, test } from '@jest/globals';
import { commandOf } from './commands.ts';
import { listGoals } from './goals.ts';
import { parseRecipeFile, type RecipeFile } from './recipe-file.ts';
import { buildWorld } from './world.ts';

const shapeless = (ingredients: readonly unknown[], result: unknown, group?: string): unknown => ({
  type: 'minecraft:crafting_shapeless',
  ingredients,
  result,
  ...(group === undefined ? {} : { group }),
});
const item = (name: string) => ({ item: `minecraft:${name}` });
const tag = (name: string) => ({ tag: `minecraft:${name}` });

function recipe(json: unknown): RecipeFile {
  const parsed = parseRecipeFile(json);
  if (parsed.kind !== 'recipe') throw new Error(JSON.stringify(parsed));
  return parsed.recipe;
}

function world(...jsons: readonly unknown[]) {
  return buildWorld(jsons.map(recipe));
}

const commandsFor = (built: ReturnType<typeof world>, name: string) =>
  built.recipesByItem.get(`minecraft:${name}`)?.map(commandOf);

describe('parseRecipeFile', () => {
  test('only the first alternative counts, and equal ingredients are merged at the first one', () => {
    const built = world(shapeless([item('a'), [item('b'), item('c')], item('a')], { ...item('x'), count: 3 }));
    expect(commandsFor(built, 'x')).toEqual(['craft 3 x using 2 a, 1 b']);
    expect(built.items.has('minecraft:c')).toBe(false);
  });

  test('a shaped ingredient is counted by its symbol, in the order of the key', () => {
    const key = { '/': item('rod'), '#': tag('beams') };
    const built = world({ type: 'minecraft:crafting_shaped', pattern: ['###', '/#/'], key, result: 'minecraft:x' });
    expect(commandsFor(built, 'x')).toEqual(['craft 1 x using 2 rod, 4 beams']);
  });

  test('other types are ignored, and a malformed recipe is refused with its place', () => {
    expect(parseRecipeFile({ type: 'minecraft:smelting', whatever: 1 })).toEqual({ kind: 'ignored', type: 'minecraft:smelting' });
    expect(parseRecipeFile(shapeless([{ thing: 1 }], 'minecraft:x'))).toMatchObject({ kind: 'malformed' });
    expect(parseRecipeFile(shapeless([], 'minecraft:x'))).toMatchObject({
      kind: 'malformed',
      reason: expect.stringContaining('ingredient'),
    });
    expect(parseRecipeFile(shapeless([item('a')], { ...item('x'), count: -1 }))).toMatchObject({
      kind: 'malformed',
      reason: expect.stringContaining('result'),
    });
    for (const json of [null, [], 'x', { type: 1 }]) expect(parseRecipeFile(json)).toMatchObject({ kind: 'malformed' });
  });
});

describe('buildWorld', () => {
  test('a recipe from one kind of block is dropped, but its names are known', () => {
    const built = world(shapeless([item('tin_block')], item('tin')), shapeless([item('tin_block'), item('a')], item('y')));
    expect(built.recipesByItem.has('minecraft:tin')).toBe(false);
    expect(built.items.has('minecraft:tin')).toBe(true);
    expect(commandsFor(built, 'y')).toEqual(['craft 1 y using 1 tin block, 1 a']);
  });

  test('the first listed of two recipes that make each other survives', () => {
    const [ab, ba] = [shapeless([item('b')], item('a')), shapeless([item('a')], item('b'))];
    expect([...world(ab, ba).recipesByItem.keys()]).toEqual(['minecraft:a']);
    expect([...world(ba, ab).recipesByItem.keys()]).toEqual(['minecraft:b']);
  });

  test('the last recipe closes a longer cycle', () => {
    const built = world(shapeless([item('a')], item('b')), shapeless([item('b')], item('c')), shapeless([item('c')], item('a')));
    expect([...built.recipesByItem.keys()]).toEqual(['minecraft:b', 'minecraft:c']);
  });

  test('a group is a tag of its results; a group named as its result tags recipes and not the item', () => {
    const built = world(
      shapeless([item('a')], item('red'), 'paints'),
      shapeless([item('b')], item('rope'), 'rope'),
      shapeless([tag('paints')], item('x')),
    );
    expect(built.tagOfItem).toEqual(new Map([['minecraft:red', 'minecraft:paints']]));
    expect(built.tags).toEqual(new Set(['minecraft:paints']));
    expect([...built.recipesByTag.keys()]).toEqual(['minecraft:paints', 'minecraft:rope']);
  });

  test('a tag that nothing can make becomes an item', () => {
    const built = world(shapeless([tag('logs')], item('x')));
    expect(built.tags.size).toBe(0);
    expect(built.items.has('minecraft:logs')).toBe(true);
    expect(built.recipesByItem.get('minecraft:x')?.[0]?.ingredients[0]?.kind).toBe('item');
  });
});

describe('listGoals', () => {
  test('the easiest recipe determines the depth, by its deepest ingredient', () => {
    const built = world(
      shapeless([item('raw')], item('a')),
      shapeless([item('a'), item('raw')], item('b')),
      shapeless([item('b'), item('a')], item('c')),
      shapeless([item('other')], item('c')),
    );
    expect(listGoals(built).map(({ item: id, depth }) => [id, depth])).toEqual([
      ['minecraft:a', 1],
      ['minecraft:c', 1],
      ['minecraft:b', 2],
    ]);
  });

  test('an item that only itself can make, through a tag, is not a goal and does not hang the search', () => {
    const built = world(shapeless([tag('beds'), item('dye')], item('red_bed'), 'beds'), shapeless([item('dye')], item('ink')));
    expect(listGoals(built).map(({ item: id }) => id)).toEqual(['minecraft:ink']);
  });
});
