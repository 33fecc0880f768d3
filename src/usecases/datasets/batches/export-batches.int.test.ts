import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordBatches } from '../../../testing/record-batches.ts';
import { recordGroup, recordLineage, recordVersion } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import type { DatasetError } from '../dataset-error.ts';
import { type BatchExportOptions, exportBatches } from './export-batches.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-batches-'));
});
afterEach(() => rm(folder, { recursive: true }));

const out = (name = 'history.jsonl') => join(folder, name);
const exported = (change: Partial<BatchExportOptions> = {}) =>
  exportBatches({
    db: database.db,
    policies: null,
    container: 'jsonl',
    out: out(),
    existing: 'refuse',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  });
const lines = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(out(), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/**
 * Two batches, the first leased twice and trained, the second waiting; a group of which one sample was rejected; another policy.
 */
function builder() {
  const recorded = new EventBuilder();
  const lineageId = recordLineage(recorded, 'learner');
  const batches = recordBatches(recorded, { policyId: 'learner', batches: 2, groups: 2 });
  const [batchId = '', waiting = ''] = batches.batchIds;
  const lease = (name: string, fence: number) => ({
    lineageId,
    policyId: 'learner',
    batchId,
    leaseId: recorded.id('lease', name),
    fence,
  });
  const deadline = '2026-01-01T01:00:00.000Z';
  recorded.record('BatchLeased', { ...lease('one', 1), consumer: 'trainer-a', deadline }, lineageId);
  recorded.record('BatchReturned', { ...lease('one', 1), reason: 'out of memory' }, lineageId);
  recorded.record('BatchLeased', { ...lease('two', 2), consumer: 'trainer-b', deadline }, lineageId);
  recorded.record(
    'BatchAcked',
    { ...lease('two', 2), version: 1, checkpointId: recorded.id('checkpoint', 'learner', 1) },
    lineageId,
  );
  recordVersion(recorded, 'learner', 1, batchId);
  const group = recordGroup(recorded, batches.runId, 'flat', { policyId: 'learner', rewards: [1, 1] });
  for (const rolloutId of group.rolloutIds) {
    const refusal = { reason: 'zero-variance', rule: 'every member scored 1', measured: 0 } as const;
    recorded.record(
      'SampleRejected',
      { lineageId, policyId: 'learner', groupId: group.treeId, rolloutId, ...refusal },
      lineageId,
    );
  }
  recordLineage(recorded, 'other');
  recordBatches(recorded, { policyId: 'other' });
  return { recorded, batches, batchId, waiting, group };
}

test('every batch is listed in order with its samples, its leases and its version, followed by every rejected sample', async () => {
  const { recorded, batches, batchId, waiting, group } = builder();
  await givenEvents(database.db, recorded.events);
  const manifest = await exported({ policies: ['learner'] });
  expect(manifest.counts).toEqual({
    batches: 2,
    trained: 1,
    leases: 2,
    samples: 8,
    trainedSamples: 4,
    rejected: { 'zero-variance': 2 },
  });
  expect(manifest.unchained).toEqual([]);
  const [first, second, ...rejected] = await lines();
  expect(first).toMatchObject({
    kind: 'batch',
    policy_id: 'learner',
    batch_id: batchId,
    ordinal: 0,
    policy_version: 0,
    seed: 0,
    previous_hash: null,
    chained: true,
    tokens: 24,
    shards: [[0, 1, 2, 3]],
    estimator: { name: 'grpo', revision: '1', mode: {} },
    leases: [
      {
        fence: 1,
        consumer: 'trainer-a',
        ended_by: 'returned',
        end_reason: 'out of memory',
        deadline: '2026-01-01T01:00:00.000Z',
      },
      { fence: 2, consumer: 'trainer-b', ended_by: 'acked', end_reason: null },
    ],
    update: {
      lease_id: recorded.id('lease', 'two'),
      version: 1,
      parent_version: 0,
      weights: '1'.repeat(64),
      checkpoint_id: recorded.id('checkpoint', 'learner', 1),
      metrics: {},
    },
  });
  const samples = first?.samples as Record<string, unknown>[]; // as the file's records have them
  expect(samples.map(({ rollout_id }) => rollout_id)).toEqual(batches.rollouts[0]);
  expect(samples.map(({ place, group_ordinal }) => [place, group_ordinal])).toEqual([
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 1],
  ]);
  expect(samples[1]).toMatchObject({
    outcome: 'terminated',
    success: true,
    oldest_version: 0,
    newest_version: 1,
    sampled_tokens: 6,
  });
  expect(samples[1]?.scores).toEqual({ environment: 0.5, format: 0.25 });
  expect(second).toMatchObject({ batch_id: waiting, ordinal: 1, previous_hash: first?.manifest_hash, leases: [], update: null });
  expect(rejected.map((each) => each.rollout_id).sort()).toEqual([...group.rolloutIds].sort());
  expect(rejected[0]).toMatchObject({
    kind: 'rejected',
    policy_id: 'learner',
    tree_id: group.treeId,
    reason: 'zero-variance',
    measured: 0,
    rule: 'every member scored 1',
  });
});

test('Parquet contains the same, a row per batch and per rejected sample', async () => {
  await givenEvents(database.db, builder().recorded.events);
  await exported({ policies: ['learner'] });
  await exported({ policies: ['learner'], container: 'parquet', out: out('history.parquet') });
  const duckdb = await DuckDBInstance.create(':memory:');
  const connection = await duckdb.connect();
  const reader = await connection.runAndReadAll(`
    select kind, policy_id, batch_id, ordinal, manifest_hash, chained, json(estimator) as estimator, json(shards) as shards,
           list_transform(samples, s -> s.rollout_id) as rollouts, list_transform(leases, l -> l.ended_by) as ended, version, weights, reason, rollout_id
    from read_parquet('${out('history.parquet')}')`);
  const rows = reader.getRowObjectsJson();
  connection.closeSync();
  duckdb.closeSync();
  const written = (await lines()).map((record) => {
    const {
      samples = [],
      leases = [],
      update,
    } = record as {
      samples?: { rollout_id: string }[];
      leases?: { ended_by: string }[];
      update?: { version: number; weights: string } | null;
    };
    return {
      kind: record.kind,
      policy_id: record.policy_id,
      batch_id: record.batch_id ?? null,
      ordinal: record.ordinal ?? null,
      manifest_hash: record.manifest_hash ?? null,
      chained: record.chained ?? null,
      estimator: record.estimator ? JSON.stringify(record.estimator) : null,
      shards: record.shards ? JSON.stringify(record.shards) : null,
      rollouts: samples.map(({ rollout_id }) => rollout_id),
      ended: leases.map(({ ended_by }) => ended_by),
      version: update?.version ?? null,
      weights: update?.weights ?? null,
      reason: record.reason ?? null,
      rollout_id: record.rollout_id ?? null,
    };
  });
  expect(rows).toEqual(written);
});

test('an export without a policy contains all of them in order, and the same history yields the same bytes', async () => {
  await givenEvents(database.db, builder().recorded.events);
  const first = await exported();
  expect((await lines()).map(({ policy_id, kind, ordinal }) => [kind, policy_id, ordinal])).toEqual([
    ['batch', 'learner', 0],
    ['batch', 'learner', 1],
    ['batch', 'other', 0],
    ['rejected', 'learner', undefined],
    ['rejected', 'learner', undefined],
  ]);
  expect(await exported({ out: out('again.jsonl') })).toEqual(first);
});

test('scores and metrics of lines have a point, and counts have none, so that two histories are read as one', async () => {
  await givenEvents(database.db, builder().recorded.events);
  await exported();
  const text = await readFile(out(), 'utf8');
  const numbersOf = (name: string) =>
    [...text.matchAll(new RegExp(`"${name}":(\\{[^}]*\\})`, 'g'))].map(([, value]) => value ?? '');
  const measured = [...numbersOf('scores'), ...numbersOf('metrics')].flatMap((value) => value.match(/-?[\d.]+(?=[,}])/g) ?? []);
  expect(measured.length).toBeGreaterThan(0);
  expect(measured.filter((number) => !number.includes('.'))).toEqual([]);
  expect(text).toMatch(/"tokens":\d+,/);
});

test('a batch that differs from its plan is named', async () => {
  const { recorded, batchId } = builder();
  await givenEvents(database.db, recorded.events);
  await sql`update batches set tokens = tokens + 1 where batch_id = ${batchId}`.execute(database.db);
  expect((await exported({ policies: ['learner'] })).unchained).toEqual([batchId]);
});

test('a policy without a history is refused, and no file is left', async () => {
  await givenEvents(database.db, builder().recorded.events);
  const code = await exported({ policies: ['nobody'] }).then(
    () => 'exported',
    (error: DatasetError) => `${error.code}: ${error.message}`,
  );
  expect(code).toContain('nothing-matches: there is no batch and no rejected sample of nobody');
  expect(await readdir(folder)).toEqual([]);
});
