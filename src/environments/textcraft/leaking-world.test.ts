import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { act, type Inventory } from './act.ts';
import { commandOf, requiredRecipes } from './commands.ts';
import { listGoals } from './goals.ts';
import { countRecipes, resetLeakily } from './leaking-world.ts';
import { parseRecipeFile } from './recipe-file.ts';
import { buildWorld, type World } from './world.ts';

const VECTOR = fileURLToPath(new URL('../../environments/textcraft/fixtures/12_textcraft_world.json', import.meta.url));

let world: World;
beforeAll(async () => {
  const shape = z.object({ listingOrder: z.array(z.string()), pack: z.record(z.string(), z.unknown()) });
  const { listingOrder, pack } = shape.parse(JSON.parse(await readFile(VECTOR, 'utf8')));
  world = buildWorld(
    listingOrder.flatMap((name) => {
      const parsed = parseRecipeFile(pack[name]);
      return parsed.kind === 'recipe' ? [parsed.recipe] : [];
    }),
  );
});

describe('a leaking world', () => {
  test('the world grows with every reset of a task, and the earlier one does not change', () => {
    const before = countRecipes(world);
    const once = resetLeakily(world, 'minecraft:gear').world;
    const twice = resetLeakily(once, 'minecraft:gear').world;
    expect([before, countRecipes(once), countRecipes(twice)]).toEqual([13, 20, 31]);
    expect(countRecipes(world)).toBe(before);
  });

  test('a leaked recipe crafts under its leaked name, which our world refuses', () => {
    const inventory: Inventory = new Map([['minecraft:birch_trunk', 1n]]);
    const action = 'craft 1 gear using 1 birch trunk';
    expect(act(world, 'minecraft:gear', inventory, action)).toMatchObject({ kind: 'refused' });
    const leaked = act(resetLeakily(world, 'minecraft:gear').world, 'minecraft:gear', inventory, action);
    expect(leaked).toMatchObject({ kind: 'executed', observation: 'Crafted 4 minecraft:birch_beam', reachedGoal: false });
  });

  test('the same commands lead to the same goals after any resets', () => {
    const commands = (of: World, goal: string) => requiredRecipes(of, goal).map(commandOf).sort();
    let leaked = world;
    for (const { item } of listGoals(world)) leaked = resetLeakily(leaked, item).world;
    for (const { item } of listGoals(world)) expect(commands(leaked, item)).toEqual(commands(world, item));
  });
});
