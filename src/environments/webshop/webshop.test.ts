import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EnvironmentError, type StepResult } from '../environment.ts';
import { openEnvironment, parseEnvironment } from '../open-environment.ts';
import { generateCatalogue } from './catalogue.ts';
import { generateGoals, splitsOf } from './goals.ts';
import { openWebShop } from './webshop.ts';

const kind = await openWebShop({ seed: 233, products: 96 });
const begun = async (alias: string) => {
  const episode = await kind.create();
  return { episode, opening: await episode.reset({ alias, seed: 0 }) };
};
/** Plays actions, and returns what the last one led to. */
async function played(alias: string, ...actions: readonly string[]): Promise<StepResult> {
  const { episode } = await begun(alias);
  const steps: StepResult[] = [];
  for (const action of actions) steps.push(await episode.step(action));
  return steps.at(-1) as StepResult;
}

describe('the pages of the shop', () => {
  test('a task begins at the search bar with what is to be bought', async () => {
    const { opening } = await begun('0');
    expect(opening.observation).toBe(`WebShop [SEP] Instruction: [SEP] ${opening.goal} [SEP] Search`);
    expect(opening.goal).toMatch(/^Find me .+, and price lower than \d+0\.00 dollars$/);
    expect(opening.split).toBe('test');
    expect(opening.admissibleActions).toContain('search[running shoes]');
  });

  test('a search shows ten products of fifty, and their pages are turned', async () => {
    const first = await played('0', 'search[Home Office]');
    expect(first.observation).toContain('[SEP] Back to Search [SEP] Page 1 (Total results: 50) [SEP] Next > [SEP] B0');
    expect(first.observation.match(/B0[0-9A-Z]{8} \[SEP\] [^[]+ \[SEP\] \$\d+\.\d+/g)).toHaveLength(10);
    const second = await played('0', 'search[home office]', 'click[next >]');
    expect(second.observation).toContain('Page 2 (Total results: 50) [SEP] < Prev [SEP] Next >');
    expect((await played('0', 'search[home office]', 'click[Next >]', 'click[< prev]')).observation).toBe(first.observation);
    const beyond = await played('0', 'search[home office]', ...Array.from({ length: 5 }, () => 'click[next >]'));
    expect(beyond.observation).toMatch(/Page 6 \(Total results: 50\) \[SEP\] < Prev \[SEP\] Next >$/);
  });

  test('a product shows its options, its price and its pages, and a choice does not change what is shown', async () => {
    const { episode } = await begun('0');
    await episode.step((await episode.expertAction?.()) ?? '');
    const item = await episode.step((await episode.expertAction?.()) ?? '');
    expect(item.observation).toMatch(
      /\[SEP\] Back to Search \[SEP\] < Prev \[SEP\] .+ \[SEP\] Price: \$[\d.]+ \[SEP\] Rating: N\.A\. \[SEP\] Description \[SEP\] Features \[SEP\] Reviews \[SEP\] Buy Now$/,
    );
    const choice = (await episode.expertAction?.()) ?? '';
    const chosen = await episode.step(choice);
    expect(chosen.observation).toBe(item.observation);
    expect(chosen.stateHash).not.toBe(item.stateHash);
    for (const [page, text] of [
      ['description', /Made|gift|Packed|team|Designed|pictures/],
      ['features', /\[SEP\] [A-Z]/],
      ['reviews', /< Prev$/],
    ] as const) {
      expect((await episode.step(`click[${page}]`)).observation).toMatch(text);
      expect((await episode.step('click[< prev]')).stateHash).toBe(chosen.stateHash);
    }
  });

  test('a purchase ends the episode with the receipt of the published page', async () => {
    const { episode, opening } = await begun('7');
    let step: StepResult | null = null;
    while (!step?.terminated) step = await episode.step((await episode.expertAction?.()) ?? '');
    expect(step).toMatchObject({ success: true, reward: { value: 1, raw: 1, kind: 'final' }, admissibleActions: [] });
    expect(step.observation).toMatch(
      /^Thank you for shopping with us! \[SEP\] Your code: .+ \[SEP\] 1\.0 \[SEP\] Reward Details \[SEP\] None$/,
    );
    expect(await episode.expertAction?.()).toBeNull();
    expect(opening.depth).toBeGreaterThanOrEqual(3);
  });

  test.each(['search[]', 'click[search]', 'click[buy now]', 'look around', '', ' click[back to search]', 'Search[shoes]'])(
    'at the search bar, %j does nothing and is said to be no action',
    async (action) => {
      const { opening } = await begun('0');
      expect(await played('0', action)).toMatchObject({
        observation: opening.observation,
        executable: false,
        terminated: false,
        reward: { value: 0 },
        stateHash: opening.stateHash,
      });
    },
  );

  test('as in the published program a search is possible on every page, and an option of a product is forgotten by it', async () => {
    const { episode } = await begun('0');
    await episode.step('search[home]');
    const again = await episode.step('search[office]');
    expect(again.observation).toContain('Page 1 (Total results');
    expect((await played('0', 'search[office]')).stateHash).toBe(again.stateHash);
  });
});

describe('the tasks of the shop', () => {
  test('whoever knows the product reaches the full reward in the steps that were promised', async () => {
    for (let i = 0; i < 120; i++) {
      const { episode, opening } = await begun(String(i));
      const length = await episode.planLength?.();
      let [steps, last]: [number, StepResult | null] = [0, null];
      while (!last?.terminated && steps < 20) {
        last = await episode.step((await episode.expertAction?.()) ?? '');
        steps++;
      }
      expect([i, steps, last?.reward.value]).toEqual([i, length, 1]);
      expect(steps).toBe(opening.depth);
    }
  });

  test('whatever is done, the planner finds the way from there, and a copy goes on as its original would', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(99), fc.array(fc.nat(1_000), { maxLength: 8 }), async (task, choices) => {
        const { episode, opening } = await begun(String(task));
        let actions = opening.admissibleActions ?? [];
        for (const choice of choices) {
          const step = await episode.step(actions[choice % Math.max(1, actions.length)] ?? '');
          expect(step.executable || actions.includes('click[search]')).toBe(true);
          if (step.terminated) return expect(await episode.planLength?.()).toBe(0);
          actions = step.admissibleActions ?? [];
        }
        const copy = await episode.clone?.();
        const length = (await episode.planLength?.()) ?? 0;
        for (let i = 1; i <= length; i++) {
          const action = (await episode.expertAction?.()) ?? '';
          const step = await episode.step(action);
          expect(await copy?.step(action)).toEqual(step);
          expect(step.terminated).toBe(i === length);
          if (i === length) expect(step.reward.value).toBe(1);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('equal seeds make equal shops, other seeds other ones, and a larger shop holds the products of a smaller one', async () => {
    const products = generateCatalogue(5, 60);
    expect(generateCatalogue(5, 200).slice(0, 60)).toEqual(products);
    expect(generateGoals(products, 5)).toEqual(generateGoals(generateCatalogue(5, 60), 5));
    expect(new Set(products.map(({ asin }) => asin)).size).toBe(60);
    const prints = await Promise.all([1, 1, 2].map(async (seed) => (await openWebShop({ seed, products: 30 })).fingerprint));
    expect(prints[0]).toBe(prints[1]);
    expect(prints[0]).not.toBe(prints[2]);
  });

  test('goals 0 to 499 of a whole shop are for tests, a fifth of a small one', () => {
    const splits = kind.tasks?.map(({ split }) => split) ?? [];
    const tests = Math.ceil(splits.length / 5);
    expect(new Set(splits.slice(0, tests))).toEqual(new Set(['test']));
    expect(splits.slice(tests).filter((split) => split === 'train').length).toBeGreaterThan(3 * tests);
  });

  test('no instruction is of both splits', () => {
    const goals = generateGoals(generateCatalogue(233, 1_000), 233);
    const splits = splitsOf(goals);
    const trained = new Set(goals.flatMap(({ instruction }, i) => (splits[i] === 'train' ? [instruction] : [])));
    expect(goals.filter(({ instruction }, i) => splits[i] === 'test' && trained.has(instruction))).toEqual([]);
    expect(splits.filter((split) => split === 'test').length).toBeGreaterThan(500); // some goals repeat an instruction
  });

  test('what would be right is known by the published fields', () => {
    expect(kind.groundTruth?.('0')).toEqual({
      groundTruth: {
        asin: expect.stringMatching(/^B0[0-9A-Z]{8}$/),
        instruction: expect.stringMatching(/^Find me /),
        attributes: expect.any(Array),
        goal_options: expect.any(Array),
        price_upper: expect.any(Number),
        goal_index: 0,
      },
      dataSource: 'webshop-generated_test',
    });
    expect(kind.groundTruth?.('x')).toBeNull();
  });
});

test('what cannot be opened is refused by option, or by task', async () => {
  expect(parseEnvironment('webshop-generated')).toEqual({ environment: 'webshop-generated', seed: 233, products: 1_000 });
  expect(() => parseEnvironment('webshop-generated:products=0')).toThrow('products');
  expect(() => parseEnvironment('webshop-generated:items=5')).toThrow('items');
  const small = await openEnvironment('webshop-generated:products=1;seed=1');
  const episode = await small.create();
  for (const alias of ['999999', '-1', '01', 'x'])
    await expect(episode.reset({ alias, seed: 0 })).rejects.toThrow(/webshop-generated has tasks 0 to \d+, not /);
  await expect(episode.step('search[x]')).rejects.toBeInstanceOf(EnvironmentError);
});
