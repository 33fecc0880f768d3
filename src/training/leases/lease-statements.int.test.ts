import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { derivedId } from '../../events/derived-id.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { createLeaseService } from './lease-service.ts';
import { lineageIdOf } from './lineage-id.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const WEIGHTS = 'a'.repeat(64);

/** Returns a lease service over a policy with two batches, and the statements that it asks but `begin` and `commit`. */
async function given(policyId: string) {
  const builder = new EventBuilder(policyId);
  recordBatches(builder, { policyId, batches: 2, steps: 1, members: 1 });
  await appendRecorded(platform.log, builder.events);
  await settle(platform);
  let statements = 0;
  const db = platform.database.db.withPlugin({
    transformQuery: ({ node }) => {
      statements++;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const { blobs, stamp } = platform;
  const service = createLeaseService({ db, blobs, stamp, producer: { name: 'lease-desk', version: '1' } });
  await service.registerPolicy({ policyId, backend: 'test', weights: WEIGHTS, kept: null });
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    statements = 0;
    return work();
  };
  return { service, counted, count: () => statements };
}

test('a claim takes four statements in its transaction, a renewal two, an acknowledgement five', async () => {
  const { service, counted, count } = await given('counted');
  const claim = () => counted(() => service.lease({ policyId: 'counted', consumer: 'trainer', ttlMs: 60_000 }));
  expect([(await claim()).kind, count()]).toEqual(['leased', 4]);
  const again = await claim(); // by the same consumer: the return of the first lease goes into the outbox with it
  expect([again.kind, count()]).toEqual(['leased', 4]);
  if (again.kind !== 'leased') throw new Error('expected a lease');
  const { leaseId, fence, batchId, base } = again.lease;
  expect([(await counted(() => service.renew({ leaseId, fence, ttlMs: 60_000 }))).kind, count()]).toEqual(['renewed', 2]);
  const made = { version: base.version + 1, checkpointId: derivedId('made of', batchId), backend: 'test', weights: WEIGHTS };
  const ack = () => service.ack({ leaseId, fence, ...made, kept: null, loss: null, metrics: {} });
  expect([(await counted(ack)).kind, count()]).toEqual(['acked', 5]);
});

test('a lease that waited for the lock of its policy lasts from the end of the wait on', async () => {
  const { service } = await given('awaited');
  const { db } = platform.database;
  const waited = 1_000;
  const leased = await db.transaction().execute(async (trx) => {
    await sql`select 1 from lease_desk where lineage_id = ${lineageIdOf('awaited')}::uuid for update`.execute(trx);
    const asked = service.lease({ policyId: 'awaited', consumer: 'trainer', ttlMs: 60_000 });
    await until(async () => (await sql`select 1 from pg_locks where not granted`.execute(db)).rows.length > 0);
    await sql`select pg_sleep(${waited / 1_000})`.execute(trx);
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(trx);
    return { asked, releasedAt: rows[0]?.now.getTime() ?? 0 };
  });
  const answer = await leased.asked;
  if (answer.kind !== 'leased') throw new Error('expected a lease');
  expect(answer.lease.deadline.getTime()).toBeGreaterThanOrEqual(leased.releasedAt + 60_000);
});
