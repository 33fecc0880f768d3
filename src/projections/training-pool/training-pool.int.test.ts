import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, givenEvents, projectSlice, requeueWaiting, testLog } from '../../testing/given-events.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { type RecordedGroup, recordBatch, recordGroup, recordLineage, recordVersion } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { samplesOf } from '../analysis/sample-query.ts';
import { samplesTable } from '../tables/samples-table.ts';
import { readAbandonments, readBatchesById, readLeasesOfBatches } from './read-batches.ts';
import { readDiscarded } from './read-discarded.ts';
import { readAwaitingGreedy } from './read-greedy-siblings.ts';
import { readLedgers } from './read-ledger.ts';
import { readLineages } from './read-lineages.ts';
import { readOwedGroups } from './read-owed-groups.ts';
import { readPool } from './read-pool.ts';
import { readSamples } from './read-samples.ts';
import { readVersionsOfBackend } from './read-stored-versions.ts';
import { readGroupCounts } from './read-waiting.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'linear:test';
const lineageId = derivedId('lineage', POLICY);
const lineage = { lineageId, policyId: POLICY };

/** Two groups of two: the first in a batch, a member of the second rejected. */
function recordPool(): {
  readonly builder: EventBuilder;
  readonly first: RecordedGroup;
  readonly second: RecordedGroup;
  readonly batch: DataOf<'BatchPlanned'>;
} {
  const builder = new EventBuilder('pool');
  const runId = builder.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const first = recordGroup(builder, runId, 'first', { policyId: POLICY, rewards: [0, 1] });
  const second = recordGroup(builder, runId, 'second', { policyId: POLICY, rewards: [1, 1] });
  recordLineage(builder, POLICY);
  const batch = recordBatch(builder, POLICY, [first]);
  recordRejection(builder, second);
  return { builder, first, second, batch };
}

function recordRejection(
  builder: EventBuilder,
  { treeId, rolloutIds }: RecordedGroup,
  reason: DataOf<'SampleRejected'>['reason'] = 'zero-variance',
): void {
  const [rolloutId = ''] = rolloutIds;
  const refused = { reason, rule: 'recorded', measured: 1 };
  builder.record('SampleRejected', { ...lineage, groupId: treeId, rolloutId, ...refused }, lineageId);
}

describe('the training pool', () => {
  test('a revision before its reward is excluded until it is requeued, in one slice as in two', async () => {
    const builder = new EventBuilder('early');
    const tree = builder.tree(builder.run());
    const rewardId = builder.id('reward');
    const scorer = { name: 'judge', revision: '2' };
    const early = { rewardId, treeId: tree.treeId, value: 0.25, scorer, reason: 'before it was there' };
    builder.record('RewardRevised', early, tree.runId);
    builder.reward(tree, tree.rootStepId, 1, { rewardId });
    const values = async () =>
      (await sql<{ value: number }>`select value from sample_rewards`.execute(database.db)).rows.map(({ value }) => value);
    const log = testLog();
    appendTo(log, builder.events);
    for (const slices of [[3], [1, 2, 3]]) {
      await emptyReadModels(database.db);
      for (const [i, to] of slices.entries()) await projectSlice(database.db, log, 'trees', slices[i - 1] ?? 0, to);
      expect(await values()).toEqual([1]);
    }
    await requeueWaiting(database.db, { log });
    expect(await values()).toEqual([0.25]);
  });

  test('the pool does not depend on which topic is read first', async () => {
    const orders = [
      ['runs', 'trees', 'training'],
      ['runs', 'training', 'trees'],
      ['trees', 'runs', 'training'],
      ['trees', 'training', 'runs'],
      ['training', 'runs', 'trees'],
      ['training', 'trees', 'runs'],
    ];
    const found: unknown[] = [];
    for (const order of orders) {
      await emptyReadModels(database.db);
      const log = testLog();
      appendTo(log, recordPool().builder.events);
      for (const topic of order) await projectSlice(database.db, log, topic, 0, log.topics.get(topic)?.length ?? 0);
      found.push([await readModels(database.db), await readLedgers(database.db, 'all'), await quarantined()]);
    }
    for (const each of found) expect(each).toEqual(found[0]);
  });

  test('a ledger read before its samples shows how far it is ahead, and never that one is lost', async () => {
    const { builder } = recordPool();
    await givenEvents(
      database.db,
      builder.events.filter(({ type }) => !['RunStarted', 'RolloutFinished'].includes(type)),
    );
    const before = { produced: 0, trained: 0, difference: 0, ahead: 3 };
    expect(await readLedgers(database.db, [POLICY])).toMatchObject([before]);
    await givenEvents(
      database.db,
      builder.events.filter(({ type }) => ['RunStarted', 'RolloutFinished'].includes(type)),
    );
    const owed = { group: 0, ready: 1, planned: 2, leased: 0 };
    expect(await readLedgers(database.db, [POLICY])).toMatchObject([
      { produced: 4, rejected: { 'zero-variance': 1 }, owed, difference: 0, ahead: 0 },
    ]);
  });

  test('the pool excludes what is not for training: other channels and other configurations', async () => {
    const builder = new EventBuilder('channels');
    for (const training of [{ policyId: POLICY, channel: 'validation' }, { policyId: POLICY }, 'yes', null])
      recordGroup(builder, builder.run(JSON.stringify(training), { config: { training } }), 'task', {
        policyId: POLICY,
        rewards: [1],
      });
    await givenEvents(database.db, builder.events);
    expect(await readLedgers(database.db, 'all')).toEqual([]);
    expect(await quarantined()).toEqual([]);
  });

  test('the sums of a sample include late and revised rewards, on its steps and on itself', async () => {
    const { builder, first } = recordPool();
    const tree = { treeId: first.treeId, runId: builder.id('run', 'run') };
    const [rolloutId = ''] = first.rolloutIds;
    const rewardId = builder.reward(tree, null, 0.25, { rolloutId, component: 'late' });
    const scorer = { name: 'judge', revision: '2' };
    const revised = builder.record('RewardRevised', { rewardId, treeId: first.treeId, value: 2, scorer, reason: '' }, tree.runId);
    const again = builder.record('RewardRevised', { rewardId, treeId: first.treeId, value: 3, scorer, reason: '' }, tree.runId);
    await givenEvents(database.db, [...builder.events, revised]);
    expect(again.data.value).toBe(3);
    const [sample] = await readSamples(database.db, [{ treeId: first.treeId, id: rolloutId }]);
    expect(sample).toMatchObject({ scores: { environment: 0, late: 3 }, state: 'planned', oldestVersion: 0, sampledTokens: 3 });
  });
});

/** Records that the holder of the lease abandons a batch. */
function recordAbandonment(
  builder: EventBuilder,
  { batchId, ordinal }: DataOf<'BatchPlanned'>,
  reason = 'its rows cannot be read',
) {
  const lease = { leaseId: builder.id('lease'), fence: 1 };
  const leased = { ...lineage, batchId, ...lease, consumer: 'trainer', deadline: '2026-01-01T00:05:00.000Z' };
  builder.record('BatchLeased', leased, lineageId);
  builder.record('BatchAbandoned', { ...lineage, batchId, ordinal, by: 'trainer', reason, ...lease }, lineageId);
}
function recordAcknowledgement(builder: EventBuilder, { batchId }: DataOf<'BatchPlanned'>) {
  const acked = { batchId, leaseId: builder.id('lease'), fence: 1, version: 1, checkpointId: builder.id('c') };
  builder.record('BatchAcked', { ...lineage, ...acked }, lineageId);
}

test('an abandoned batch has its own state: its samples are neither trained nor owed, and its lease is over', async () => {
  const { builder, first, batch } = recordPool();
  recordAbandonment(builder, batch);
  await givenEvents(database.db, builder.events);
  expect(await readLedgers(database.db, [POLICY])).toMatchObject([
    {
      produced: 4,
      trained: 0,
      abandoned: 2,
      rejected: { 'zero-variance': 1 },
      difference: 0,
      ahead: 0,
      owed: { group: 0, ready: 1, planned: 0, leased: 0 },
    },
  ]);
  const states = (
    await readSamples(
      database.db,
      first.rolloutIds.map((id) => ({ treeId: first.treeId, id })),
    )
  ).map(({ state }) => state);
  expect(states).toEqual(['abandoned', 'abandoned']);
  expect(await readBatchesById(database.db, [batch.batchId])).toMatchObject([{ state: 'abandoned' }]);
  expect(await readLeasesOfBatches(database.db, [batch.batchId])).toMatchObject([
    { fence: 1, endedBy: 'abandoned', endReason: 'its rows cannot be read' },
  ]);
  expect(await readAbandonments(database.db, [batch.batchId])).toMatchObject([
    { by: 'trainer', reason: 'its rows cannot be read' },
  ]);
  expect(await readLineages(database.db, [POLICY])).toMatchObject([{ planned: 1, trained: 0, abandoned: 1, newestVersion: 0 }]);
});

describe('the end of a batch', () => {
  test.each([
    ['an acknowledgement of an abandoned batch', recordAbandonment, recordAcknowledgement, 'data.batchId'],
    ['an abandonment of a trained batch', recordAcknowledgement, recordAbandonment, 'data.batchId'],
    [
      'an abandonment for another reason',
      recordAbandonment,
      (builder: EventBuilder, batch: DataOf<'BatchPlanned'>) => recordAbandonment(builder, batch, 'another'),
      'data.batchId',
    ],
  ])('%s is quarantined', async (_, end, contradict, field) => {
    const { builder, batch } = recordPool();
    end(builder, batch);
    contradict(builder, batch);
    await givenEvents(database.db, builder.events);
    expect((await quarantined()).map((row) => row.field)).toEqual([field]);
    expect(await readLedgers(database.db, [POLICY])).toMatchObject([{ difference: 0 }]);
  });
});

test('what the stream of one policy says of the batch, the lease and the checkpoint of another changes nothing of that', async () => {
  const { builder, batch } = recordPool();
  recordAcknowledgement(builder, batch);
  recordVersion(builder, POLICY, 1, batch.batchId);
  const other = { lineageId: derivedId('lineage', 'other'), policyId: 'other' };
  const theirs = new EventBuilder('the other policy');
  const checkpoint = { checkpointId: builder.id('checkpoint', POLICY, 1), version: 1, backend: 'mine', weights: 'a'.repeat(64) };
  const saved = builder.record('CheckpointSaved', { ...lineage, ...checkpoint, kept: null, covers: null }, lineageId);
  const acked = builder.events.find((event): event is Envelope<'BatchAcked'> => event.type === 'BatchAcked');
  if (!acked) throw new Error('a batch was trained');
  const { leaseId, fence } = acked.data;
  const { backend } = saved.data;
  const lease = { ...other, batchId: batch.batchId, leaseId, fence };
  theirs.record('BatchLeased', { ...lease, consumer: 'x', deadline: '2026-01-01T00:05:00.000Z' }, other.lineageId);
  theirs.record('LeaseExpired', lease, other.lineageId);
  theirs.record('BatchAcked', { ...acked.data, ...other, version: 7 }, other.lineageId);
  theirs.record('BatchAbandoned', { ...lease, ordinal: 0, by: 'trainer', reason: '' }, other.lineageId);
  theirs.record('CheckpointSaved', { ...saved.data, ...other, backend: 'theirs' }, other.lineageId);
  const state = async () => ({
    batches: await readBatchesById(database.db, [batch.batchId]),
    leases: await readLeasesOfBatches(database.db, [batch.batchId]),
    lineages: await readLineages(database.db, [POLICY]),
    stored: (await readVersionsOfBackend(database.db, backend)).filter(({ policyId }) => policyId === POLICY),
  });
  await givenEvents(database.db, [...theirs.events, ...builder.events]);
  expect((await quarantined()).map(({ code, field }) => `${code} ${field}`)).toEqual(
    Array.from({ length: 4 }, () => 'missing-batch data.batchId'),
  );
  const before = await state();
  expect(before).toMatchObject({ batches: [{ state: 'trained' }], lineages: [{ trained: 1 }] });
  expect(before.stored.map(({ version }) => version)).toContain(1);
  const again = theirs.events.map((event) => ({ ...event, id: builder.id('again', event.id) }));
  await givenEvents(database.db, again);
  expect(await state()).toEqual(before);
});

test('what another policy plans or rejects of a sample changes nothing of it, whichever of the two comes first', async () => {
  const other = { lineageId: derivedId('lineage', 'other'), policyId: 'other' };
  const { builder, first, second, batch } = recordPool();
  recordAcknowledgement(builder, batch);
  recordVersion(builder, POLICY, 1, batch.batchId);
  const theirs = new EventBuilder('the other policy');
  recordLineage(theirs, 'other');
  const [refused, ready] = second.rolloutIds as [string, string];
  const planned = recordBatch(theirs, 'other', [{ treeId: second.treeId, rolloutIds: [refused] }]);
  for (const [groupId, rolloutIds] of [[first.treeId, first.rolloutIds] as const, [second.treeId, [ready]] as const])
    for (const rolloutId of rolloutIds) {
      const rejected = { groupId, rolloutId, reason: 'stale' as const, rule: 'theirs', measured: null };
      theirs.record('SampleRejected', { ...other, ...rejected }, other.lineageId);
    }
  const named = [first, second].flatMap(({ treeId, rolloutIds }) => rolloutIds.map((id) => ({ treeId, id })));
  const query = {
    policyId: POLICY,
    rules: { metric: 'environment', unscored: 'wait' as const },
    waitsFor: 'closed-groups' as const,
    finishedRuns: [],
  };
  const state = async () => ({
    ledger: await readLedgers(database.db, [POLICY]),
    samples: (await readSamples(database.db, named)).toSorted((a, b) => (a.rolloutId < b.rolloutId ? -1 : 1)),
    pool: await readPool(database.db, query),
    groups: await readGroupCounts(database.db, POLICY),
    owed: (await readOwedGroups(database.db, POLICY, [])).groups,
    awaiting: await readAwaitingGreedy(database.db, POLICY),
    discarded: await readDiscarded(database.db, POLICY, 'task', 10),
    settled: (await readModels(database.db)).settled_samples,
    table: await tableRows(),
    states: await Promise.all(
      STATES.map((state) => samplesOf(database.db, { state }).select('samples.rolloutId').orderBy('samples.rolloutId').execute()),
    ),
  });
  await givenEvents(database.db, builder.events);
  const alone = await state();
  expect(alone.samples.map((sample) => sample.state).sort()).toEqual(['ready', 'rejected', 'trained', 'trained']);
  await givenEvents(database.db, theirs.events);
  expect(await state()).toEqual(alone);
  await emptyReadModels(database.db);
  await givenEvents(database.db, [...theirs.events, ...builder.events]);
  expect(await state()).toEqual(alone);
  expect(await quarantined()).toEqual([]);
  const { rows } = await sql<{
    rolloutId: string;
  }>`select rollout_id from batch_samples where batch_id = ${planned.batchId}`.execute(database.db);
  expect(rows).toEqual([{ rolloutId: refused }]);
});

const STATES = ['trained', 'rejected', 'abandoned', 'group', 'ready', 'planned', 'leased'] as const;

async function tableRows() {
  const query = samplesTable.query(database.db, { policyId: POLICY });
  return query
    .select(['samples.rolloutId', 'b.batchId', 'x.reason'] as never)
    .orderBy('samples.rolloutId' as never)
    .execute();
}

test('a slice that ends behind an acknowledgement changes neither the newest version nor the trained batches', async () => {
  const { builder, batch } = recordPool();
  recordAcknowledgement(builder, batch);
  await givenEvents(database.db, builder.events);
  expect(await readLineages(database.db, [POLICY])).toMatchObject([{ planned: 1, trained: 0, newestVersion: 0 }]);
  const seen = builder.events.length;
  recordVersion(builder, POLICY, 1, batch.batchId);
  await givenEvents(database.db, builder.events.slice(seen));
  expect(await readLineages(database.db, [POLICY])).toMatchObject([{ planned: 1, trained: 1, newestVersion: 1 }]);
});

describe('contradictions in the stream of a policy', () => {
  test.each<[string, string, (pool: ReturnType<typeof recordPool>) => void]>([
    ['another batch of the same ordinal', 'data.ordinal', ({ builder, second }) => void recordBatch(builder, POLICY, [second])],
    [
      'a sample in a second batch',
      'data.groups',
      ({ builder, first, batch }) => void recordBatch(builder, POLICY, [first], batch),
    ],
    [
      'a batch with a rejected sample',
      'data.groups',
      ({ builder, second, batch }) => void recordBatch(builder, POLICY, [second], batch),
    ],
    ['a rejection of a planned sample', 'data.rolloutId', ({ builder, first }) => recordRejection(builder, first)],
    [
      'a second rejection of a sample for another reason',
      'data.rolloutId',
      ({ builder, second }) => recordRejection(builder, second, 'stale'),
    ],
    [
      'a batch that skips one',
      'data.previousHash',
      ({ builder, second, batch }) => void recordBatch(builder, POLICY, [second], { ...batch, ordinal: 4 }),
    ],
    [
      'a batch whose predecessor is not the recorded one',
      'data.previousHash',
      ({ builder, second, batch }) => void recordBatch(builder, POLICY, [second], { ...batch, manifestHash: 'e'.repeat(64) }),
    ],
    [
      'a manifest that was changed',
      'data.manifestHash',
      ({ builder, batch }) => {
        const next = { ...batch, batchId: derivedId('batch', lineageId, 1), ordinal: 1, previousHash: batch.manifestHash };
        builder.record('BatchPlanned', { ...next, manifestHash: manifestHashOf(batch) }, lineageId);
      },
    ],
    [
      'other rules of the same policy',
      'data.lineageId',
      ({ builder }) => void recordLineage(builder, POLICY, { groupsPerBatch: 9 }),
    ],
    [
      'a lineage under a foreign id',
      'data.lineageId',
      ({ builder }) => {
        builder.record(
          'LeaseExpired',
          { ...lineage, lineageId: builder.id('other'), batchId: builder.id('b'), leaseId: builder.id('l'), fence: 1 },
          lineageId,
        );
      },
    ],
  ])('%s goes to quarantine', async (_, field, contradict) => {
    const pool = recordPool();
    const before = pool.builder.events.length;
    contradict(pool);
    await givenEvents(database.db, pool.builder.events.slice(0, before));
    const rowsBefore = await trainingRows();
    const added = pool.builder.events.slice(before);
    await givenEvents(database.db, added.slice(0, 1));
    expect((await quarantined()).map((row) => row.field)).toEqual([field]);
    expect(await trainingRows()).toEqual(rowsBefore);
  });

  test('a repeated event changes nothing', async () => {
    const { builder } = recordPool();
    await givenEvents(database.db, builder.events);
    const recorded: readonly Envelope[] = builder.events.map((event, i) => ({ ...event, id: builder.id('again', i) }));
    const before = await trainingRows();
    await givenEvents(
      database.db,
      recorded.filter(({ stream }) => stream === lineageId),
    );
    expect(await trainingRows()).toEqual(before);
    expect(await quarantined()).toEqual([]);
  });
});

async function quarantined() {
  return database.db.selectFrom('quarantine').select(['projection', 'code', 'field']).orderBy('offset').execute();
}

async function trainingRows() {
  const { batches, batch_samples, sample_rejections, lineages, leases, policy_versions } = await readModels(database.db);
  return { batches, batch_samples, sample_rejections, lineages, leases, policy_versions };
}
