import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { act, type Inventory, isGettable } from './act.ts';
import { craftsOf, isAffordable } from './crafts.ts';
import { vectorWorld } from './fixtures/vector-world.ts';
import { listGoals } from './goals.ts';
import { nameOf } from './names.ts';
import { createPlanner } from './planner.ts';
import type { RecipeFile } from './recipe-file.ts';
import { buildWorld, type World } from './world.ts';

const world = vectorWorld();
const planner = createPlanner(world);

/** Plays a plan; returns whether its last action, and none before, reached the goal. */
function reaches(played: World, goal: string, inventory: Inventory, plan: readonly string[]): boolean {
  let held = inventory;
  return plan.every((action, i) => {
    const outcome = act(played, goal, held, action);
    held = outcome.inventory;
    return outcome.kind === 'executed' && outcome.reachedGoal === (i === plan.length - 1);
  });
}

const CAP = 10; // no shortest plan for a goal of depth 1 or 2 of the vector pack takes more of one thing

/** The length of a shortest plan by breadth-first search over everything that can be done, amounts up to the cap. */
function bruteForceLength(goal: string, start: Inventory): number {
  const recipes = [...world.recipesByItem.values()].flat();
  const below = new Set([goal]);
  for (const id of below)
    for (const craft of recipes.flatMap((r) => craftsOf(world, r)))
      if (craft.makes.item === id) for (const used of craft.consumes.keys()) below.add(used);
  const crafts = recipes.flatMap((recipe) => craftsOf(world, recipe)).filter(({ makes }) => below.has(makes.item));
  const gettable = [...below].filter((id) => isGettable(world, id));

  const keyOf = (inventory: Inventory): string =>
    JSON.stringify(
      [...inventory]
        .filter(([, n]) => n > 0n)
        .map(([id, n]) => [id, Number(n)])
        .sort(),
    );
  const seen = new Set([keyOf(start)]);
  let frontier: Inventory[] = [start];
  for (let length = 1; frontier.length > 0; length++) {
    const next: Inventory[] = [];
    for (const held of frontier) {
      const gets = gettable.flatMap((id) =>
        Array.from({ length: CAP - Number(held.get(id) ?? 0n) }, (_, i) => `get ${i + 1} ${nameOf(id)}`),
      );
      for (const action of [...crafts.filter((craft) => isAffordable(craft, held)).map(({ command }) => command), ...gets]) {
        const outcome = act(world, goal, held, action);
        if (outcome.reachedGoal) return length;
        if (seen.has(keyOf(outcome.inventory))) continue;
        seen.add(keyOf(outcome.inventory));
        next.push(outcome.inventory);
      }
    }
    frontier = next;
  }
  throw new Error(`no way to ${goal}`);
}

const shallow = listGoals(world).filter(({ depth }) => depth <= 2);
const item = (id: string, count = 1n) => ({ kind: 'item' as const, id: `minecraft:${id}`, count });
const file = (result: string, ingredients: RecipeFile['ingredients'], count = 1n, group: string | null = null): RecipeFile => ({
  ingredients,
  result: { id: `minecraft:${result}`, count },
  group,
});

describe('the TextCraft planner', () => {
  test.each(listGoals(world))('the plan leads to $item from nothing', ({ item: goal }) => {
    expect(reaches(world, goal, new Map(), planner.plan(goal, new Map()) ?? [])).toBe(true);
  });

  test('a plan from nothing is as short as brute force finds for depths 1 and 2', () => {
    expect(shallow).toHaveLength(7);
    for (const { item: goal } of shallow)
      expect([goal, planner.plan(goal, new Map())?.length]).toEqual([goal, bruteForceLength(goal, new Map())]);
  });

  test('a plan from any small inventory is as short as brute force finds', () => {
    const names = ['birch_trunk', 'pine_trunks', 'birch_beam', 'pine_beam', 'reed', 'resin', 'cord', 'copper_lump', 'ingot'];
    const inventories = fc
      .uniqueArray(fc.tuple(fc.constantFrom(...names), fc.bigInt(0n, 4n)), { selector: ([name]) => name })
      .map((entries): Inventory => new Map(entries.map(([name, amount]) => [`minecraft:${name}`, amount])));
    fc.assert(
      fc.property(fc.constantFrom(...shallow), inventories, ({ item: goal }, inventory) => {
        const plan = planner.plan(goal, inventory) ?? [];
        expect(reaches(world, goal, inventory, plan)).toBe(true);
        expect(plan.length).toBe(bruteForceLength(goal, inventory));
      }),
      { numRuns: 8 },
    );
  });

  test('a plan from any state leads to every goal, and each of its steps shortens it by one', () => {
    const start: Inventory = new Map([
      ['minecraft:pine_beam', 3n],
      ['minecraft:cord', 2n],
      ['minecraft:rod', 1n],
    ]);
    for (const { item: goal } of listGoals(world)) {
      let held = start;
      const length = planner.plan(goal, start)?.length ?? Number.NaN;
      for (let left = length; left > 0; left--) {
        const plan = planner.plan(goal, held) ?? [];
        expect(plan).toHaveLength(left);
        held = act(world, goal, held, plan[0] ?? '').inventory;
      }
      expect(length).toBeGreaterThan(0);
    }
  });

  test('a plan uses carried items before it gathers more, and one item of a tag serves a whole ingredient', () => {
    const inventory: Inventory = new Map([
      ['minecraft:pine_beam', 1n],
      ['minecraft:birch_beam', 2n],
    ]);
    expect(planner.plan('minecraft:rod', inventory)).toEqual(['craft 4 rod using 2 birch beam']);
  });

  test('a plan shares the surplus of a batch', () => {
    const built = buildWorld([
      file('peg', [item('twig')], 4n),
      file('toy', [item('peg', 3n)]),
      file('box', [item('toy'), item('peg')]),
    ]);
    expect(createPlanner(built).plan('minecraft:box', new Map())).toEqual([
      'get 1 twig',
      'craft 4 peg using 1 twig',
      'craft 1 toy using 3 peg',
      'craft 1 box using 1 toy, 1 peg',
    ]);
  });

  test('a plan takes the cheaper recipe, and does not rely on a recipe shadowed by an earlier one', () => {
    const tagged = { kind: 'tag' as const, id: 'minecraft:planks', count: 2n };
    const built = buildWorld([
      file('plank', [item('trunk')], 1n, 'planks'),
      file('rod', [tagged], 1n),
      file('rod', [item('plank', 2n)], 8n),
      file('fence', [item('rod', 2n)]),
      file('fence', [item('stone', 5n)]),
    ]);
    expect(createPlanner(built).plan('minecraft:fence', new Map())).toEqual(['get 5 stone', 'craft 1 fence using 5 stone']);
    expect(createPlanner(built).plan('minecraft:rod', new Map())?.at(-1)).toBe('craft 1 rod using 2 plank');
  });

  test('a plan is found beyond the limit of the search too', () => {
    const planks = (count: bigint) => ({ kind: 'tag' as const, id: 'minecraft:planks', count });
    const woods = ['alder', 'ash', 'beech', 'birch', 'elm', 'larch', 'oak', 'pine'];
    const built = buildWorld([
      ...woods.map((wood) => file(`${wood}_plank`, [item(`${wood}_log`)], 4n, 'planks')),
      file('stick', [planks(2n)], 4n),
      file('chest', [planks(8n)]),
      file('rack', [item('chest', 5n), item('stick', 9n), planks(3n)]),
      file('hall', [item('rack', 2n), item('chest', 9n)]),
    ]);
    const plan = createPlanner(built).plan('minecraft:hall', new Map()) ?? [];
    expect(reaches(built, 'minecraft:hall', new Map(), plan)).toBe(true);
  });

  test('a goal that cannot be made has no plan', () => {
    const bed = { kind: 'tag' as const, id: 'minecraft:beds', count: 1n };
    const built = buildWorld([file('red_bed', [bed, item('dye')], 1n, 'beds')]);
    expect(createPlanner(built).plan('minecraft:red_bed', new Map())).toBeNull();
    expect(createPlanner(built).plan('minecraft:nothing', new Map())).toBeNull();
    expect(createPlanner(built).plan('minecraft:red_bed', new Map([['minecraft:red_bed', 1n]]))).toHaveLength(2);
  });
});
