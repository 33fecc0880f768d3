import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Envelope } from '../src/events/envelope.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

interface Item {
  readonly id: string;
  readonly return: number;
  readonly success: boolean;
  readonly policyVersion: number;
  readonly steps: number;
  /** Null while it goes on: such a rollout is in `rollouts`, and no trajectory. */
  readonly finishedAt: string | null;
}

let api: TestGraphql;
let runId: string;
const items: Item[] = [];
const builder = new EventBuilder();
beforeAll(async () => {
  api = await openTestGraphql();
  runId = builder.run();
  await recordRollouts('before', 40);
});
afterAll(() => api.close());

/** Few distinct returns, lengths and times, so that most rows tie with others. */
async function recordRollouts(name: string, count: number): Promise<void> {
  const recorded = builder.events.length;
  const tree = builder.tree(runId, name);
  for (let i = 0; i < count; i++) {
    const policyVersion = i % 3;
    const [length, value] = [1 + (i % 2), [0, 1, 0.1 + 0.2, -1e-7][(i * 7) % 4] ?? 0];
    const rolloutId = builder.rollout(tree, i, { policy: { policyId: 'random', version: policyVersion } });
    let leaf = tree.rootStepId;
    for (let depth = 1; depth <= length; depth++) leaf = builder.step(tree, rolloutId, leaf, depth);
    builder.reward(tree, leaf, value);
    const finished = i % 8 !== 7;
    if (finished) builder.finishRollout(tree, rolloutId, leaf, { steps: length, success: value >= 1 });
    const finishedAt = finished ? instantOf(i) : null;
    items.push({ id: rolloutId, return: value, success: value >= 1, policyVersion, steps: length, finishedAt });
  }
  let finish = 0;
  const events = builder.events.slice(recorded).map((event): Envelope => {
    if (event.type !== 'RolloutFinished') return event;
    while (finish % 8 === 7) finish++;
    return { ...event, occurredAt: instantOf(finish++) };
  });
  await givenEvents(api.database.db, events);
}

function instantOf(i: number): string {
  return new Date(Date.UTC(2026, 5, 1, 0, 0, 0, i % 3)).toISOString();
}

type Direction = 'ASC' | 'DESC';
interface Case {
  readonly list: 'trajectories' | 'rollouts';
  readonly key: 'FINISHED' | 'RETURN' | 'STEPS';
  readonly direction: Direction;
  readonly filter: { readonly success?: boolean; readonly policyVersion?: { readonly from?: number; readonly until?: number } };
  readonly size: number;
  readonly backwards: boolean;
}
const cases: fc.Arbitrary<Case> = fc
  .record({
    list: fc.constantFrom('trajectories' as const, 'rollouts' as const),
    key: fc.constantFrom('FINISHED' as const, 'RETURN' as const, 'STEPS' as const),
    direction: fc.constantFrom<Direction>('ASC', 'DESC'),
    filter: fc.record(
      { success: fc.boolean(), policyVersion: fc.constantFrom({ from: 1 }, { until: 2 }, { from: 1, until: 2 }) },
      { requiredKeys: [] },
    ),
    size: fc.integer({ min: 1, max: 45 }),
    backwards: fc.boolean(),
  })
  .map((c) => (c.list === 'rollouts' && c.key === 'RETURN' ? { ...c, key: 'STEPS' } : c));

const order = ({ key, direction }: Case) => `${key}_${direction}`;

/** What the pages together must give, said by sorting in memory. */
function expected(all: readonly Item[], { list, key, direction, filter }: Case): string[] {
  const { success, policyVersion } = filter;
  const chosen = all
    .filter((item) => list === 'rollouts' || item.finishedAt !== null)
    // Whether it succeeded and how long it was is known of finished ones only.
    .filter((item) => success === undefined || (item.finishedAt !== null && item.success === success))
    .filter((item) => item.policyVersion >= (policyVersion?.from ?? 0) && item.policyVersion < (policyVersion?.until ?? 99));
  const rank = (item: Item): string | number => {
    if (key === 'RETURN') return item.return;
    if (item.finishedAt === null) return key === 'STEPS' ? Number.POSITIVE_INFINITY : '~';
    return key === 'STEPS' ? item.steps : item.finishedAt;
  };
  const compare = (a: Item, b: Item) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : a.id < b.id ? -1 : 1);
  const sorted = chosen.sort(compare).map(({ id }) => id);
  return direction === 'ASC' ? sorted : sorted.reverse();
}

async function page(c: Case, cursor: string | null) {
  const type = c.list === 'rollouts' ? 'Rollout' : 'Trajectory';
  const answer = await api.ask(
    `query ($first: Int, $last: Int, $after: String, $before: String, $filter: ${type}Filter, $orderBy: ${type}Order!) {
      list: ${c.list}(first: $first, last: $last, after: $after, before: $before, filter: $filter, orderBy: $orderBy) {
        totalCount edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }`,
    {
      filter: c.filter,
      orderBy: order(c),
      ...(c.backwards ? { last: c.size, before: cursor } : { first: c.size, after: cursor }),
    },
  );
  expect(answer.errors).toBeUndefined();
  const { edges, pageInfo, totalCount } = answer.data.list;
  const ids: string[] = edges.map(({ node }: { node: { id: string } }) => node.id);
  expect(pageInfo.startCursor).toBe(edges[0]?.cursor ?? null);
  expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null);
  const more: boolean = c.backwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage;
  return { ids, totalCount, more, next: c.backwards ? pageInfo.startCursor : pageInfo.endCursor };
}

/** Pages through a list to its end. */
async function read(c: Case, between: (pages: number) => Promise<void> = async () => undefined): Promise<string[]> {
  let ids: string[] = [];
  for (let cursor: string | null = null, pages = 1; ; pages++) {
    const found = await page(c, cursor);
    expect(found.ids.length).toBeLessThanOrEqual(c.size);
    ids = c.backwards ? [...found.ids, ...ids] : [...ids, ...found.ids];
    if (!found.more) return ids;
    expect(found.ids).toHaveLength(c.size);
    cursor = found.next;
    await between(pages);
  }
}

describe('paging', () => {
  test('pages return each item of any filter once, for every order, page size and direction, ties included', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (c) => {
        const all = expected(items, c);
        expect(await read(c)).toEqual(all);
        expect((await page(c, null)).totalCount).toBe(all.length);
      }),
      { numRuns: 8 },
    );
  });

  test('pages return each item once and in order while rows arrive', async () => {
    let arrived = 0;
    await fc.assert(
      fc.asyncProperty(
        cases.map((c): Case => ({ ...c, size: 1 + (c.size % 7) })),
        async (c) => {
          const before = expected([...items], c);
          const seen = await read(c, async (pages) => {
            if (pages % 3 === 1 && pages < 8) await recordRollouts(`arriving ${arrived++}`, 3);
          });
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.filter((id) => before.includes(id))).toEqual(before);
          expect(seen).toEqual(expected(items, c).filter((id) => seen.includes(id)));
        },
      ),
      { numRuns: 2 },
    );
  });
});

describe('refused pages', () => {
  const ask = async (args: string) => (await api.ask(`{ trajectories(${args}) { nodes { id } } }`)).errors?.[0];

  test('a cursor of another order, of another list or from no server is refused with the remedy', async () => {
    const base: Case = { list: 'trajectories', key: 'RETURN', direction: 'DESC', filter: {}, size: 2, backwards: false };
    const byReturn = (await page(base, null)).next;
    const ofRollouts = (await page({ ...base, list: 'rollouts', key: 'FINISHED' }, null)).next;
    expect(await ask(`after: "${byReturn}", orderBy: STEPS_ASC`)).toMatchObject({
      message:
        'the cursor belongs to the ordering trajectories/RETURN_DESC, this list is in the ordering trajectories/STEPS_ASC; page on with the ordering it came from, or leave the cursor out',
      extensions: { code: 'BAD_USER_INPUT' },
    });
    expect((await ask(`after: "${ofRollouts}", orderBy: FINISHED_DESC`))?.message).toMatch(
      /belongs to the ordering rollouts\/FINISHED_DESC/,
    );
    for (const cursor of ['x', '', 'WzFd', 'x'.repeat(5_000), "' or 1=1 --"]) {
      expect(await ask(`before: "${cursor}"`)).toMatchObject({
        message: 'the cursor is damaged; pass one that this list gave, as it is, or leave it out',
        extensions: { code: 'BAD_USER_INPUT' },
      });
    }
  });

  test('a page that is too large, empty or requested in two directions is refused with the remedy', async () => {
    expect((await ask('first: 501'))?.message).toBe('first must be from 1 to 500, not 501; read more in several pages');
    expect((await ask('last: 0'))?.message).toBe('last must be from 1 to 500, not 0; read more in several pages');
    expect((await ask('first: -1'))?.message).toMatch('not -1');
    expect((await ask('first: 1, last: 1'))?.message).toMatch('not both');
  });
});
