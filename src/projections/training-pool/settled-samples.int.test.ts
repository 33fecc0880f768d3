import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { derivedId } from '../../events/derived-id.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, givenEvents, projectSlice, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { type RecordedGroup, recordBatch, recordGroup, recordLineage } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { owners } from '../owners/owners.ts';
import { findMiscounted } from '../runs/find-miscounted.ts';
import { readDiscarded } from './read-discarded.ts';
import { readLedgers } from './read-ledger.ts';
import { readPool } from './read-pool.ts';
import { readGroupCounts } from './read-waiting.ts';
import { findMissettled, lengthOf, lockClosed, settleGroups, settleRuns } from './settled-samples.ts';
import { trainingPool } from './training-pool.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const POLICY = 'linear:test';
const lineageId = derivedId('lineage', POLICY);
const lineage = { lineageId, policyId: POLICY };

/** Groups that were trained, trained in part, abandoned, rejected whole, planned, and left. */
function record() {
  const builder = new EventBuilder('settled');
  const runId = builder.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const group = (name: string, rewards: readonly number[], version = 0) =>
    recordGroup(builder, runId, name, { policyId: POLICY, rewards, version });
  const [trained, partly, abandoned] = [group('trained', [0, 1]), group('partly', [1, 0, 1], 3), group('abandoned', [1, 0])];
  const [rejected, planned] = [group('rejected', [1, 1, 1]), group('planned', [0, 1])];
  group('left', [0, 1]);
  recordLineage(builder, POLICY);
  const reject = ({ treeId }: RecordedGroup, rolloutId = '', reason: 'zero-variance' | 'stale' | 'too-long' = 'stale') =>
    builder.record(
      'SampleRejected',
      { ...lineage, groupId: treeId, rolloutId, reason, rule: 'recorded', measured: 1 },
      lineageId,
    );
  reject(partly, partly.rolloutIds[0], 'too-long');
  const batch = recordBatch(builder, POLICY, [trained, { ...partly, rolloutIds: partly.rolloutIds.slice(1) }]);
  const lease = { batchId: batch.batchId, leaseId: builder.id('lease'), fence: 1 };
  builder.record('BatchAcked', { ...lineage, ...lease, version: 1, checkpointId: builder.id('c') }, lineageId);
  const lost = recordBatch(builder, POLICY, [abandoned], batch);
  const nobody = { by: 'operator', leaseId: null, fence: null } as const;
  const { batchId, ordinal } = lost;
  builder.record('BatchAbandoned', { ...lineage, batchId, ordinal, reason: 'lost', ...nobody }, lineageId);
  for (const [i, rolloutId] of rejected.rolloutIds.entries()) reject(rejected, rolloutId, i === 0 ? 'zero-variance' : 'stale');
  recordBatch(builder, POLICY, [planned], lost);
  return { builder, runId, trained, partly, abandoned, rejected };
}

const rules = { metric: 'environment', unscored: 'reject' } as const;
const answers = async () => ({
  ledgers: await readLedgers(database.db, 'all'),
  discarded: await Promise.all((['task', 'length', 'version'] as const).map((by) => readDiscarded(database.db, POLICY, by, 100))),
  counts: await readGroupCounts(database.db, POLICY),
  pool: await readPool(database.db, { policyId: POLICY, rules, waitsFor: 'closed-groups', finishedRuns: [] }),
});

/** What every answer is by the samples alone. */
async function answersWithout() {
  await sql`delete from settled_samples`.execute(database.db);
  return answers();
}

async function settledTrees(): Promise<readonly string[]> {
  const rows = await database.db.selectFrom('settledSamples').select('treeId').distinct().orderBy('treeId').execute();
  return rows.map(({ treeId }) => treeId);
}

test('groups of which nothing is owed are counted once, and every answer is the same where none are', async () => {
  const { builder, trained, partly, abandoned, rejected } = record();
  await givenEvents(database.db, builder.events);
  expect(await settledTrees()).toEqual([trained, partly, abandoned, rejected].map(({ treeId }) => treeId).sort());
  expect(await findMiscounted(database.db)).toEqual([]);
  const kept = await answers();
  expect(kept.ledgers).toMatchObject([
    {
      produced: 14,
      trained: 4,
      abandoned: 2,
      rejected: { 'too-long': 1, 'zero-variance': 1, stale: 2 },
      owed: { group: 0, ready: 2, planned: 2, leased: 0 },
      difference: 0,
      ahead: 0,
      running: 0,
    },
  ]);
  expect(kept.counts).toMatchObject({ runs: 1, open: 0, closed: 6, rejected: { stale: 1 } });
  expect(kept.pool).toHaveLength(1);
  expect(await answersWithout()).toEqual(kept);
});

test('what comes behind the close of a counted group is counted with it, a sample that goes on and its steps too', async () => {
  const { builder, runId, trained } = record();
  await givenEvents(database.db, builder.events);
  const seen = builder.events.length;
  const tree = { treeId: trained.treeId, runId, rootStepId: builder.id('root', trained.treeId) };
  const rolloutId = builder.rollout(tree, 2, { policy: { policyId: POLICY, version: 0 } });
  builder.step(tree, trained.rolloutIds[0] ?? null, tree.rootStepId, 1);
  for (const event of builder.events.slice(seen)) await givenEvents(database.db, [event]);
  expect(await findMiscounted(database.db)).toEqual([]);
  expect(await settledTrees()).toContain(trained.treeId); // one that goes on is owed nothing yet
  const running = await answers();
  expect(running.ledgers).toMatchObject([{ produced: 14, running: 1 }]);
  const ended = builder.events.length;
  builder.finishRollout(tree, rolloutId, tree.rootStepId);
  await givenEvents(database.db, builder.events.slice(ended));
  expect(await settledTrees()).not.toContain(trained.treeId);
  const ready = await answers();
  expect(ready.ledgers).toMatchObject([{ produced: 15, running: 0, owed: { ready: 3 }, difference: 0 }]);
  expect(await answersWithout()).toEqual(ready);
});

test('the same groups are counted in whatever order topics are read, slice by slice and again', async () => {
  const { events } = record().builder;
  const log = testLog();
  appendTo(log, events);
  const topics = ['runs', 'trees', 'training'];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ topic: fc.constantFrom(...topics), records: fc.integer({ min: 1, max: 12 }) })),
      async (cuts) => {
        await emptyReadModels(database.db);
        const read = new Map<string, number>();
        for (const { topic, records } of [...cuts, ...topics.map((topic) => ({ topic, records: 1_000 }))]) {
          const from = read.get(topic) ?? 0;
          const to = Math.min(log.topics.get(topic)?.length ?? 0, from + records);
          await projectSlice(database.db, log, topic, from, to, [trainingPool, owners]);
          read.set(topic, to);
          expect(await database.db.transaction().execute(findMissettled)).toEqual([]);
          const kept = await settledTrees();
          const found = await answers();
          const settled = await database.db.selectFrom('settledSamples').selectAll().execute();
          expect(await answersWithout()).toEqual(found);
          await settleRuns(database.db);
          expect(await settledTrees()).toEqual(kept);
          expect(await database.db.selectFrom('settledSamples').selectAll().execute()).toHaveLength(settled.length);
        }
        expect(await settledTrees()).toHaveLength(4);
      },
    ),
    { numRuns: 15 },
  );
});

test('a count that is wrong is found, and one that is missing is made up for', async () => {
  const { builder, runId } = record();
  await givenEvents(database.db, builder.events);
  const damages = [
    sql`update settled_samples set samples = samples + 1 where fate = 'trained'`,
    sql`delete from settled_samples where fate = 'too-long'`,
    sql`insert into settled_samples values (${runId}::uuid, ${runId}::uuid, ${runId}::uuid, 'stale', 1, 0, 1)`,
  ];
  for (const damage of damages) {
    await damage.execute(database.db);
    expect(await findMiscounted(database.db)).toEqual([{ table: 'settled_samples', runId }]);
    await sql`delete from settled_samples`.execute(database.db);
    await settleRuns(database.db);
  }
  await sql`delete from settled_samples`.execute(database.db);
  expect(await findMiscounted(database.db)).toEqual([]);
  await settleRuns(database.db);
  expect(await settledTrees()).toHaveLength(4);
});

test('a fold that ends a group waits for one that changes its samples, and counts what is there then', async () => {
  const { builder, trained } = record();
  const acked = builder.events.filter(({ type }) => type === 'BatchAcked');
  await givenEvents(
    database.db,
    builder.events.filter(({ type }) => type !== 'BatchAcked'),
  );
  expect(await settledTrees()).not.toContain(trained.treeId);
  let settling: Promise<void> | undefined;
  await database.db.transaction().execute(async (trx) => {
    const closed = await lockClosed(trx, sql`array[${trained.treeId}::uuid]`);
    await sql`update samples set taken = 40 where tree_id = ${trained.treeId}::uuid`.execute(trx);
    settling = givenEvents(database.db, acked);
    for (let waiting = 0; waiting === 0; ) {
      const { rows } = await sql<{ waiting: number }>`select count(*)::int as waiting from pg_locks where not granted`.execute(
        trx,
      );
      waiting = rows[0]?.waiting ?? 0;
    }
    await settleGroups(trx, closed);
  });
  await settling;
  expect(await settledTrees()).toContain(trained.treeId);
  expect(await findMiscounted(database.db)).toEqual([]);
});

test('samples are counted by the largest power of two that their actions reach, and by 0 without actions', async () => {
  const lengths = [0, 1, 2, 3, 4, 7, 8, 1_023, 1_024, 1_025, 2 ** 30 - 1, 2 ** 30, 2 ** 31 - 1];
  const { rows } = await sql<{ length: number }>`
    select ${lengthOf(sql`t`)} as length from unnest(${lengths}::integer[]) with ordinality u (t, place) order by place`.execute(
    database.db,
  );
  expect(rows.map(({ length }) => length)).toEqual(lengths.map((n) => (n < 1 ? 0 : 2 ** Math.floor(Math.log2(n)))));
});
