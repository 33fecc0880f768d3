import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { PageRequest } from '../../postgres/keyset.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { countChosenSteps, readChosenSteps, STEP_ORDERINGS } from './choose-steps.ts';
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
        ...{ thought: t === 7 ? 'a rare plan' : 'wood', action: depth % 2 === 0 ? 'craft planks' : 'get oak' },
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

async function walked(text: TextQuery, order: keyof typeof STEP_ORDERINGS, towards: PageRequest['towards']) {
  const seen: string[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const page = { limit: 5, towards, ...{ after: null, before: null, [towards === 'forwards' ? 'after' : 'before']: cursor } };
    const { rows, hasNext, hasPrevious } = await readChosenSteps(database.db, { text }, STEP_ORDERINGS[order], page);
    const ids = rows.map(({ row }) => row.id);
    if (towards === 'forwards') seen.push(...ids);
    else seen.unshift(...ids);
    cursor = (towards === 'forwards' ? rows.at(-1) : rows[0])?.cursor ?? null;
    more = towards === 'forwards' ? hasNext : hasPrevious;
  }
  return seen;
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
            ...{ order, towards, steps: plain },
          });
      }
      expect(await countChosenSteps(database.db, { text: { words, fields, mark } })).toBe(count);
    },
  );
});
