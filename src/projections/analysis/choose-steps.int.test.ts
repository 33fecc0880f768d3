import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { PageRequest } from '../../postgres/keyset.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { countChosenSteps, readChosenSteps } from './choose-steps.ts';
import { type SearchPlan, searchSteps } from './search-steps.ts';
import { STEP_ORDERINGS, type StepFilter } from './step-query.ts';
import { buildTextIndexes, readTextMark } from './text-indexes.ts';
import type { TextQuery } from './text-query.ts';

const database = useTestDatabase({ emptied: 'never' });
const builder = new EventBuilder('searched');
let mark: Date;

beforeAll(async () => {
  const run = builder.run('searched');
  for (let t = 0; t < 12; t++) {
    const tree = builder.tree(run, `task ${t}`);
    const rolloutId = builder.rollout(tree, 0);
    let parent = tree.rootStepId;
    for (let depth = 1; depth <= 4; depth++)
      parent = builder.step(tree, rolloutId, parent, depth, {
        thought: t === 7 ? 'a rare plan' : 'wood',
        action: depth % 2 === 0 ? 'craft planks' : 'get oak',
        observation: depth === 3 ? 'You see an oak log' : 'You see a log of oak',
      });
  }
  await givenEvents(database.db, builder.events);
  await buildTextIndexes(database);
  mark = (await readTextMark(database.db)) ?? new Date(0);
  // one half was taken before the index was built, the other one since
  await sql`update steps set occurred_at = ${mark}::timestamptz + (case when depth % 2 = 0 then 1 else -1 end) * log_offset * interval '1 s'`.execute(
    database.db,
  );
});

type Read = (filter: StepFilter & { readonly text: TextQuery }, page: PageRequest) => ReturnType<typeof readChosenSteps>;

/** Reads page by page, each from where the one before it says; returns what came, and how many pages it took. */
async function pagesOf(text: TextQuery, order: keyof typeof STEP_ORDERINGS, towards: PageRequest['towards'], read?: Read) {
  const seen: string[] = [];
  let pages = 0;
  for (let cursor: string | null = null, more = true; more; ) {
    const page: PageRequest = {
      limit: 5,
      towards,
      after: null,
      before: null,
      [towards === 'forwards' ? 'after' : 'before']: cursor,
    };
    const found: Awaited<ReturnType<Read>> = await (read?.({ text }, page) ??
      readChosenSteps(database.db, { text }, STEP_ORDERINGS[order], page));
    const { rows, hasNext, hasPrevious, resume = null } = found;
    pages++;
    const ids = rows.map(({ row }) => row.id);
    if (towards === 'forwards') seen.push(...ids);
    else seen.unshift(...ids);
    cursor = resume ?? (towards === 'forwards' ? rows.at(-1) : rows[0])?.cursor ?? null;
    more = towards === 'forwards' ? hasNext : hasPrevious;
  }
  return { seen, pages };
}

async function walked(text: TextQuery, order: keyof typeof STEP_ORDERINGS, towards: PageRequest['towards']) {
  return (await pagesOf(text, order, towards)).seen;
}

describe('steps that are searched, some of which the index of texts holds', () => {
  test.each([
    ['oak', [], 48],
    ['"oak log"', [], 12],
    ['rare', [], 4],
    ['rare planks', ['thought', 'action'], 0],
    ['planks', ['thought', 'action'], 24],
    ['nowhere', [], 0],
  ] as const)(
    'the words %s in %j find %i steps, and every order and direction yields the same ones as without the index',
    async (words, fields, count) => {
      for (const order of ['TREE', 'TAKEN_ASC', 'TAKEN_DESC'] as const) {
        const plain = await walked({ words, fields, mark: null }, order, 'forwards');
        expect({ order, found: plain.length, different: new Set(plain).size }).toEqual({ order, found: count, different: count });
        for (const towards of ['forwards', 'backwards'] as const)
          expect({ order, towards, steps: await walked({ words, fields, mark }, order, towards) }).toEqual({
            order,
            towards,
            steps: plain,
          });
      }
      expect(await countChosenSteps(database.db, { text: { words, fields, mark } })).toBe(count);
    },
  );
});

describe('a search of texts that are indexed', () => {
  const PLANS: readonly (SearchPlan & { readonly exactOnly?: true })[] = [
    { kind: 'look-through' },
    { kind: 'index', exact: false, share: 1, spared: [] },
    { kind: 'index', exact: false, share: 1 / 16, spared: [] },
    { kind: 'index', exact: false, share: 1 / 16, spared: ['log', "o'clock", 'back\\slash'] }, // what is not asked for is spared nowhere
    { kind: 'index', exact: true, share: 1 / 16, spared: [], exactOnly: true },
  ];
  test.each([
    ['oak', [], 48],
    ['"oak log"', [], 12],
    ['"log oak"', [], 0],
    ['oak -log', [], 0],
    ['oak -"oak log"', [], 36],
    ['planks or "oak log"', [], 36],
    ['planks', ['action'], 24],
  ] as const)(
    'the words %s in %j find %i steps, whichever plan the search follows, and however little one page looks at',
    async (words, fields, count) => {
      for (const { exactOnly, ...plan } of PLANS) {
        if (exactOnly && (words !== 'oak' || fields.length > 0)) continue;
        if (plan.kind === 'index' && plan.spared.length > 0 && words !== '"oak log"' && words !== '"log oak"') continue;
        for (const [order, towards] of [
          ['TREE', 'forwards'],
          ['TREE', 'backwards'],
          ['TAKEN_DESC', 'forwards'],
        ] as const) {
          if (order !== 'TREE' && plan.kind === 'index' && plan.share < 1) continue; // shares are those of trees
          const plain = await walked({ words, fields, mark: null }, order, 'forwards');
          expect(plain).toHaveLength(count);
          const read: Read = (filter, page) => {
            const indexed = { ...filter, text: { ...filter.text, mark } };
            return searchSteps(database.db, indexed, STEP_ORDERINGS[order], page, { plan, work: 100, first: 8 });
          };
          const { seen, pages } = await pagesOf({ words, fields, mark }, order, towards, read);
          expect({ plan, order, towards, seen }).toEqual({ plan, order, towards, seen: plain });
          if (plan.kind === 'look-through') expect(pages).toBeGreaterThan(4); // a page looks at 8 of 60
        }
      }
    },
  );

  test('a page that has looked at enough says where the search goes on, also where it found nothing', async () => {
    const text = { words: '"log oak"', fields: [], mark };
    const page = { limit: 5, towards: 'forwards', after: null, before: null } as const;
    const plan = { kind: 'look-through' } as const;
    const found = await searchSteps(database.db, { text }, STEP_ORDERINGS.TREE, page, { plan, work: 100, first: 4 });
    expect(found).toEqual({ rows: [], hasPrevious: false, hasNext: true, resume: expect.any(String) });
  });
});
