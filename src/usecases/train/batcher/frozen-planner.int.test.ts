import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { LogRecord } from '../../../log/event-log.ts';
import { readLedgers } from '../../../projections/training-pool/read-ledger.ts';
import { openBatcherWorld } from '../../../testing/batcher-world.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { readModels } from '../../../testing/read-models.ts';
import { recordGroup, recordLineage } from '../../../testing/record-training.ts';
import { until } from '../../../testing/until.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { planLineage } from './plan-lineage.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'linear:test';
const never = new AbortController().signal;
const OF_THE_PLAN = ['batches', 'batch_samples', 'sample_rejections', 'lineages'];

async function planOnRecord() {
  const models = await readModels(database.db);
  return OF_THE_PLAN.map((table) => models[table]);
}

test('a planner that froze in its append changes no plan when it wakes after another one planned further', async () => {
  const builder = new EventBuilder('pool');
  recordLineage(builder, POLICY, { maxStaleness: 1, zeroVariance: 'reject' });
  const runId = builder.run('collect', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const group = (name: string, rewards: readonly number[]) => recordGroup(builder, runId, name, { policyId: POLICY, rewards });
  group('task 0', [1, 0, 0]);
  group('task 1', [1, 1, 1]); // rejected: no variance
  group('task 2', [0, 1]);
  group('task 3', [0.5, 0]);
  group('task 4', [0, 1]);
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();

  let [arrive, wake] = [() => {}, () => {}];
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const append = async (records: readonly LogRecord[]) => {
    arrive();
    await woken; // behind its last look whether it still holds the lineage
    return world.log.append(records);
  };
  const frozen = planLineage({ ...world, log: { ...world.log, append } }, POLICY, never).catch((error: unknown) => error);
  await arrived;
  // Its silence: Postgres ends the transaction that holds the lineage.
  await until(async () => {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'`.execute(database.db);
    const had = builder.events.length;
    group(`later ${had}`, [0, 1]);
    world.record(builder.events.slice(had));
    await world.project();
    return (await planLineage(world, POLICY, never)).kind === 'planned';
  });
  await world.project();
  const before = await planOnRecord();
  expect(before[0]).toHaveLength(2);
  const [ledger] = await readLedgers(database.db, [POLICY]);
  expect(ledger).toMatchObject({ difference: 0, ahead: 0 });

  wake();
  expect(await frozen).toBeInstanceOf(Error);
  await world.project();
  expect(await planOnRecord()).toEqual(before);
  expect((await readLedgers(database.db, [POLICY]))[0]).toEqual(ledger);
  const late = await database.db.selectFrom('quarantine').select(['projection', 'type', 'code']).orderBy('offset').execute();
  // The same batches under the same manifests, which change nothing: the journal notes that another position was read.
  expect(late).toEqual([
    { projection: 'journal', type: 'BatchPlanned', code: 'conflict' },
    { projection: 'journal', type: 'BatchPlanned', code: 'conflict' },
  ]);
  expect(await planLineage(world, POLICY, never)).toEqual({ kind: 'idle' });
});
