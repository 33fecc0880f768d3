import { beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { createRandom } from '../../domain/random/random.ts';
import type { PageRequest } from '../../postgres/keyset.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { countChosenSamples, countSamplesUpTo, readChosenSamples } from './choose-samples.ts';
import type { SampleFilter } from './sample-query.ts';
import { searchSamples } from './search-samples.ts';
import { buildTextIndexes, readTextMark } from './text-indexes.ts';

const database = useTestDatabase({ emptied: 'never' });
const builder = new EventBuilder('sampled');
const WORDS = ['oak', 'log', 'stick', 'bowl', 'plank', 'stone'] as const;
const runs = (['train', 'train', 'validation'] as const).map((channel, i) =>
  builder.run(`run ${i}`, { config: { training: { policyId: `policy ${i}`, channel } } }),
);
const tasks = [0, 1, 2, 3].map((i) => builder.id('task', i));
let mark: Date;

/** Trees of runs and tasks by chance: rollouts of any length, one in six unfinished, whose steps say words by chance. */
beforeAll(async () => {
  const random = createRandom('samples');
  const said = () => Array.from({ length: 1 + random.int(4) }, () => random.choice(WORDS)).join(' ');
  for (let t = 0; t < 30; t++) {
    const which = random.int(tasks.length);
    const tree = builder.tree(runs[t % 3] ?? '', `tree ${t}`, {
      task: {
        taskId: tasks[which] ?? '',
        environment: 'textcraft',
        serverFingerprint: 'w',
        observationHash: 'a'.repeat(64),
        alias: `task ${which}`,
        goal: 'craft it',
        depth: which,
        split: 'train',
      },
    });
    for (let ordinal = 0; ordinal < 1 + random.int(5); ordinal++) {
      const rolloutId = builder.rollout(tree, ordinal);
      let at = tree.rootStepId;
      const steps = 1 + random.int(4);
      for (let depth = 1; depth <= steps; depth++)
        at = builder.step(tree, rolloutId, at, depth, { thought: said(), action: said(), observation: said() });
      if (random.int(6) > 0) builder.finishRollout(tree, rolloutId, at, { steps });
    }
  }
  await givenEvents(database.db, builder.events);
  await buildTextIndexes(database);
  mark = (await readTextMark(database.db)) ?? new Date(0);
  // two of three steps were taken before the index was built, the others since
  await sql`update steps set occurred_at = ${mark}::timestamptz + (case when log_offset % 3 = 0 then 1 else -1 end) * log_offset * interval '1 s'`.execute(
    database.db,
  );
});

/** The samples of a filter in the plainest words: every step of every finished rollout is compared. */
async function plain({ runId, taskId, treeId, text }: SampleFilter): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select distinct o.tree_id, o.rollout_id as id from rollouts o join steps s on s.rollout_id = o.rollout_id
    join training_runs r on r.run_id = o.run_id
    where o.finished_at is not null and r.channel = 'train'
      and to_tsvector('english', s.observation || ' ' || s.action || ' ' || s.thought) @@ websearch_to_tsquery('english', ${text?.words ?? ''})
      and (${runId ?? null}::uuid is null or o.run_id = ${runId ?? null}::uuid)
      and (${taskId ?? null}::uuid is null or o.task_id = ${taskId ?? null}::uuid)
      and (${treeId ?? null}::uuid is null or o.tree_id = ${treeId ?? null}::uuid)
    order by o.tree_id, o.rollout_id`.execute(database.db);
  return rows.map(({ id }) => id);
}

/** Reads all pages in a direction, each from where the one before it says. */
async function walked(
  towards: PageRequest['towards'],
  limit: number,
  read: (page: PageRequest) => ReturnType<typeof readChosenSamples>,
): Promise<readonly string[]> {
  const pages: (readonly string[])[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const side = towards === 'forwards' ? 'after' : 'before';
    const { rows, hasNext, hasPrevious, resume }: Awaited<ReturnType<typeof readChosenSamples>> = await read({
      limit,
      towards,
      after: null,
      before: null,
      [side]: cursor,
    });
    expect(rows.length).toBeLessThanOrEqual(limit);
    const ids = rows.map(({ row }) => row.rolloutId);
    if (towards === 'forwards') pages.push(ids);
    else pages.unshift(ids);
    cursor = resume ?? (towards === 'forwards' ? rows.at(-1) : rows[0])?.cursor ?? null;
    more = towards === 'forwards' ? hasNext : hasPrevious;
  }
  return pages.flat();
}

const word = fc.constantFrom(...WORDS);
const words = fc.oneof(
  word,
  fc.tuple(word, word).map((pair) => pair.join(' ')),
  fc.tuple(word, word).map((pair) => `"${pair.join(' ')}"`),
  fc.tuple(word, word).map(([wanted, not]) => `${wanted} -${not}`),
  fc.tuple(word, word, word).map(([either, a, b]) => `${either} or "${a} ${b}"`),
  fc.constant('nowhere'),
);
const scope = fc.oneof(
  fc.constantFrom(...runs).map((runId) => ({ runId })),
  fc.constantFrom(...tasks).map((taskId) => ({ taskId })),
  fc.nat({ max: 29 }).map((t) => ({ treeId: builder.id('tree', runs[t % 3] ?? '', `tree ${t}`) })),
  fc.record({ runId: fc.constantFrom(...runs), taskId: fc.constantFrom(...tasks) }),
);

test('whichever plan a search follows, however little a page looks at, its pages are the samples that the plain form finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      words,
      scope,
      fc.record({
        limit: fc.integer({ min: 1, max: 9 }),
        first: fc.integer({ min: 1, max: 8 }),
        work: fc.constantFrom(20, 200, 1e6),
      }),
      fc.constantFrom('forwards' as const, 'backwards' as const),
      fc.constantFrom('index' as const, 'look-through' as const, null),
      async (asked, of, { limit, ...bounds }, towards, plan) => {
        const text = { words: asked, fields: [], mark: plan === 'look-through' ? null : mark };
        const filter = { ...of, text };
        const expected = await plain(filter);
        const read = (page: PageRequest) =>
          plan === null
            ? readChosenSamples(database.db, filter, page)
            : searchSamples(database.db, filter, page, { ...bounds, plan });
        expect(await walked(towards, limit, read)).toEqual(expected);
        expect(await countChosenSamples(database.db, filter)).toBe(expected.length);
      },
    ),
    { numRuns: 10 },
  );
});

test('a page that has looked at enough says where the search goes on, also where it found nothing', async () => {
  const filter = { runId: runs[0] ?? '', text: { words: '"nowhere said"', fields: [], mark } };
  const page: PageRequest = { limit: 5, towards: 'forwards', after: null, before: null };
  const found = await searchSamples(database.db, filter, page, { plan: 'look-through', work: 10, first: 2 });
  expect(found).toEqual({ rows: [], hasPrevious: false, hasNext: true, resume: expect.any(String) });
});

test('a count ends at its number, and says whether that is all', async () => {
  const filter = { runId: runs[0] ?? '', text: { words: 'oak', fields: [], mark } };
  const count = (await plain(filter)).length;
  expect(count).toBeGreaterThan(3);
  expect(await countSamplesUpTo(database.db, filter, 3)).toEqual({ count: 3, complete: false });
  expect(await countSamplesUpTo(database.db, filter, 500)).toEqual({ count, complete: true });
});
