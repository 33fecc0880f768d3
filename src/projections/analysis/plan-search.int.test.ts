import { beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { countChosenSteps, countStepsUpTo } from './choose-steps.ts';
import { measureSearch } from './plan-search.ts';
import { planOf } from './search-steps.ts';
import { STEP_ORDERINGS } from './step-query.ts';
import { buildTextIndexes, readTextMark } from './text-indexes.ts';

const database = useTestDatabase({ emptied: 'never' });
const builder = new EventBuilder('measured');
const runs = [builder.run('first'), builder.run('second')];
let mark: Date;

beforeAll(async () => {
  for (let t = 0; t < 20; t++) {
    const tree = builder.tree(runs[t % 2] ?? '', `task ${t}`, { observation: 'A room.' });
    const rolloutId = builder.rollout(tree, 0);
    let parent = tree.rootStepId;
    for (let depth = 1; depth <= 9; depth++)
      parent = builder.step(tree, rolloutId, parent, depth, {
        thought: 'wood',
        action: depth === 3 ? 'craft planks' : 'get oak',
        observation: 'You see it',
      });
  }
  await givenEvents(database.db, builder.events);
  await buildTextIndexes(database);
  mark = (await readTextMark(database.db)) ?? new Date(0);
});

const measure = (words: string, runId?: string) =>
  measureSearch(database.db, { words, fields: [], mark }, runId === undefined ? {} : { runId });

test.each([
  ['oak', 160, true, []],
  ['wood', 180, true, []],
  ['planks', 20, true, []],
  ['oak planks', 20, true, ['oak']],
  ['oak or planks', 180, true, []],
  ['"oak planks"', 20, false, ['oak']],
  ['"oak wood"', 160, false, []],
  ['oak -planks', 160, false, []],
])(
  'the words %s are in at most %i of 200 steps by the statistics of the index, which decides alone: %j; it need not be asked for %j',
  async (words, most, exact, common) => {
    const size = await measure(words);
    expect({ ...size, matches: Math.round(size.matches), within: Math.round(size.within) }).toEqual({
      steps: 200,
      matches: most,
      within: most,
      exact,
      common,
    });
  },
);

test('a run has its share of the steps, by its share of the trees', async () => {
  const { steps, matches, within } = await measure('oak', runs[0]);
  expect([steps, Math.round(matches), Math.round(within)]).toEqual([100, 160, 80]);
});

test('texts are looked through where they are few, or where too many hold the words for the index', () => {
  const [tree, taken] = [STEP_ORDERINGS.TREE, STEP_ORDERINGS.TAKEN_DESC];
  const size = { steps: 700_000, matches: 10_000, within: 10_000, exact: true, common: ['oak'] };
  expect(planOf({ ...size, steps: 300 }, tree, 50)).toEqual({ kind: 'look-through' });
  expect(planOf({ ...size, matches: 90_000 }, tree, 50)).toEqual({ kind: 'look-through' });
  expect(planOf(size, taken, 50)).toEqual({ kind: 'look-through' });
  expect(planOf(size, tree, 50)).toEqual({ kind: 'index', exact: true, share: 0.01, spared: [] });
  expect(planOf({ ...size, exact: false }, tree, 50)).toEqual({ kind: 'index', exact: false, share: 0.0512, spared: ['oak'] });
  expect(planOf({ ...size, matches: 4_000, within: 4_000 }, tree, 50)).toEqual({
    kind: 'index',
    exact: true,
    share: 1,
    spared: [],
  });
  const few = planOf({ ...size, matches: 100, within: 100 }, taken, 50);
  expect(few).toEqual({ kind: 'index', exact: true, share: 1, spared: [] });
});

test('a count ends at its number, and says whether that is all', async () => {
  const text = { words: 'oak', fields: [], mark };
  expect(await countChosenSteps(database.db, { text })).toBe(160);
  expect(await countStepsUpTo(database.db, { text }, 200)).toEqual({ count: 160, complete: true });
  expect(await countStepsUpTo(database.db, { text }, 50)).toEqual({ count: 50, complete: false });
  expect(await countStepsUpTo(database.db, { depthFrom: 1 }, 50)).toEqual({ count: 50, complete: false });
  expect(await countStepsUpTo(database.db, { depthFrom: 1 }, 180)).toEqual({ count: 180, complete: true });
});
