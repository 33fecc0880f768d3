import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { createRandom } from '../../domain/random/random.ts';
import { act, type Inventory, isGettable } from './act.ts';
import { chooseShownRecipes } from './commands.ts';
import { itemsFor } from './crafts.ts';
import { listGoals } from './goals.ts';
import { createPlanner } from './planner.ts';
import { readRecipes } from './read-recipes.ts';
import { prepareCandidates, SHIPPED_RECIPES } from './textcraft.ts';
import { buildWorld } from './world.ts';

const world = buildWorld(await readRecipes(SHIPPED_RECIPES));
const goals = listGoals(world);
const planner = createPlanner(world);

describe('the shipped pack', () => {
  test('the pack has at least thirty goals of each depth from one to four', () => {
    const counts = [1, 2, 3, 4].map((depth) => goals.filter((goal) => goal.depth === depth).length);
    expect(counts).toEqual([42, 40, 37, 32]);
    expect(goals).toHaveLength(42 + 40 + 37 + 32);
  });

  test('the pack has shaped and shapeless recipes, tags, counts, alternatives, several recipes per item, ignored types and pruned files', async () => {
    const texts = await Promise.all(
      (await readdir(SHIPPED_RECIPES)).map((name) => readFile(join(SHIPPED_RECIPES, name), 'utf8')),
    );
    const types = new Set(texts.map((text) => (JSON.parse(text) as { type: string }).type));
    expect(types.size).toBeGreaterThanOrEqual(8);
    expect(texts.some((text) => text.includes('quartz'))).toBe(true);
    expect(world.items.has('minecraft:quartz')).toBe(false);
    expect(world.tags.size).toBeGreaterThanOrEqual(10);
    expect(world.recipesByItem.get('minecraft:rope')).toHaveLength(2);
    expect(isGettable(world, 'minecraft:twigs')).toBe(true); // a tag that nothing makes
    for (const raw of ['copper_lump', 'grain', 'flax']) expect(isGettable(world, `minecraft:${raw}`)).toBe(true);
    expect(world.recipesByItem.get('minecraft:flax_thread')).toHaveLength(1);
  });

  test('every ingredient can be gathered or crafted', () => {
    const ingredients = [...world.recipesByItem.values()].flat().flatMap((recipe) => recipe.ingredients);
    const canBeHad = (id: string) => isGettable(world, id) || goals.some((goal) => goal.item === id);
    for (const ingredient of ingredients)
      expect([ingredient.id, itemsFor(world, ingredient).some(canBeHad)]).toEqual([ingredient.id, true]);
  });

  test.each(goals)('the planner reaches $item within 24 actions, each among the candidates', ({ item, depth }) => {
    const plan = planner.plan(item, new Map()) ?? [];
    expect(plan.length).toBeGreaterThan(depth);
    expect(plan.length).toBeLessThanOrEqual(24);

    const candidates = prepareCandidates(world, chooseShownRecipes(world, item, createRandom(item)));
    let inventory: Inventory = new Map();
    let reached = false;
    const choose = (action: string): void => {
      expect(candidates.from(inventory)).toContain(action);
      const outcome = act(world, item, inventory, action);
      expect(outcome.kind).toBe('executed');
      inventory = outcome.inventory;
      reached = outcome.reachedGoal;
    };
    for (const action of plan) {
      const [, amount, name] = /^get (\d+) (.*)$/.exec(action) ?? [];
      if (name === undefined) choose(action);
      // Candidates offer the amounts of single commands: what the plan gets at once is gotten in parts.
      else
        for (let left = Number(amount); left > 0; left -= smallestGet(candidates.from(inventory), name))
          choose(`get ${smallestGet(candidates.from(inventory), name)} ${name}`);
    }
    expect(reached).toBe(true);
  });
});

function smallestGet(actions: readonly string[], name: string): number {
  const amounts = actions.map((action) => /^get (\d+) (.*)$/.exec(action)).filter((match) => match?.[2] === name);
  return Math.min(...amounts.map((match) => Number(match?.[1])));
}
