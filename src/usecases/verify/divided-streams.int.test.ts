import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { nextSequence } from '../../platform/next-sequence.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readStreamTopics } from '../../projections/journal/read-stream-topics.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { appendRecorded } from '../../testing/record-batches.ts';
import { verifyRecord } from './verify-record.ts';

const builder = new EventBuilder('divided');
const runId = builder.run();
const [started] = builder.events;
const tree = builder.tree(runId, 'ordinary');
const opened = builder.events.at(-1);
let platform: Platform & { readonly home: string };
let projecting: Awaited<ReturnType<typeof runProjections>>;
beforeAll(async () => {
  platform = await openTestPlatform();
  if (started?.type !== 'RunStarted' || opened?.type !== 'TreeOpened') throw new Error('a builder begins with a run and a tree');
  // As a program may append it to the log by itself: a tree with the id of its run.
  const divided = {
    ...opened,
    id: builder.id('divided'),
    stream: runId,
    data: { ...opened.data, treeId: runId, rootStepId: builder.id('root') },
  };
  projecting = await runProjections({ log: platform.log, database: platform.database });
  for (const events of [[started, opened], [divided]]) {
    await appendRecorded(platform.log, events);
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  }
});
afterAll(async () => {
  await projecting.close();
  await platform.close();
});

test('verify names a stream that lies in two topics, all of whose events are in the journal', async () => {
  const { rows } = await platform.database.pool.query('select topic from events order by topic');
  expect(rows.map(({ topic }) => topic)).toEqual(['runs', 'trees', 'trees']);
  const { faulty, faults } = await verifyRecord(platform, { files: [], signal: new AbortController().signal });
  expect({ faulty, faults }).toEqual({
    faulty: 1,
    faults: [{ what: 'event', kind: 'renumbered', place: `stream ${runId} lies in the topics runs and trees` }],
  });
});

test('a producer of another process is refused a stream that the record holds in another topic', async () => {
  const { db } = platform.database;
  expect(await readStreamTopics(db, [tree.treeId, builder.id('new')])).toEqual(new Map([[tree.treeId, 'trees']]));
  await expect(nextSequence(db, 'collector', tree.treeId, 'runs')).rejects.toThrow(
    `the id ${tree.treeId} names a stream of topic trees, and an event of topic runs would put it in both; give runs, trees, datasets and lineages ids of their own`,
  );
  expect(await nextSequence(db, 'collector', builder.id('new'), 'runs')).toBe(0);
});

test('the journal holds every event of many divided streams, however concurrently their topics are folded', async () => {
  const many = new EventBuilder('many divided');
  const ids = Array.from({ length: 200 }, (_, i) => many.run(`run ${i}`));
  for (const id of ids) {
    const { rootStepId } = many.tree(id, 'twin', { treeId: id });
    many.step({ treeId: id, runId: id }, null, rootStepId, 1);
    many.finishRun(id);
  }
  const { log, database } = platform;
  await projecting.close();
  await appendRecorded(log, many.events);
  projecting = await runProjections({ log, database });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 30_000 });
  const { rows } = await database.pool.query('select event_id from events where stream = any($1::uuid[])', [ids]);
  expect(new Set(rows.map((row) => row.event_id))).toEqual(new Set(many.events.map(({ id }) => id)));
  const { rows: states } = await database.pool.query("select name, reason from projections where state <> 'running'");
  expect(states).toEqual([]);
});
