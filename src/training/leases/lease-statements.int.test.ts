import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { derivedId } from '../../events/derived-id.ts';
import type { EventLog } from '../../log/event-log.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { createLeaseService } from './lease-service.ts';
import { lineageIdOf } from './lineage-of.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const WEIGHTS = 'a'.repeat(64);

function whilePlacedOf({ whilePlaced }: EventLog): Pick<EventLog, 'whilePlaced'> {
  if (!whilePlaced) throw new Error('the log lies in the database');
  return { whilePlaced };
}

/** Returns a lease service over a policy with two batches, and the statements that it asks but `begin` and `commit`. */
async function given(policyId: string, place: 'log' | 'outbox') {
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
  const { blobs, stamp, log } = platform;
  const producer = { name: 'lease-desk', version: '1' };
  const service = createLeaseService({ db, blobs, stamp, producer, ...(place === 'log' && whilePlacedOf(log)) });
  await service.registerPolicy({ policyId, backend: 'test', weights: WEIGHTS, kept: null });
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    statements = 0;
    return work();
  };
  return { service, counted, count: () => statements };
}

test.each(['log', 'outbox'] as const)(
  'a claim, a renewal and a return take two statements, an acknowledgement three, with their events in the %s (and a notice to its relay)',
  async (place) => {
    const policyId = `counted, ${place}`;
    const notice = place === 'outbox' ? 1 : 0;
    const { service, counted, count } = await given(policyId, place);
    const { pool } = platform.database;
    const events = async () => {
      const { rows } = await pool.query<{ n: number }>(
        place === 'log'
          ? `select count(*)::int as n from log_records where key = $1 and value like '%"lease-desk"%'`
          : 'select count(*)::int as n from outbox where key = $1',
        [lineageIdOf(policyId)],
      );
      return rows[0]?.n;
    };
    const claim = () => counted(() => service.lease({ policyId, consumer: 'trainer', ttlMs: 60_000 }));
    expect([(await claim()).kind, count(), await events()]).toEqual(['leased', 2 + notice, 3]);
    const again = await claim(); // by the same consumer: the return of the first lease is recorded with it
    expect([again.kind, count(), await events()]).toEqual(['leased', 2 + notice, 5]);
    if (again.kind !== 'leased') throw new Error('expected a lease');
    const { leaseId, fence } = again.lease;
    expect([(await counted(() => service.renew({ leaseId, fence, ttlMs: 60_000 }))).kind, count()]).toEqual(['renewed', 2]);
    expect([(await counted(() => service.nack({ leaseId, fence, reason: '' }))).kind, count()]).toEqual(['returned', 2 + notice]);
    const third = await claim();
    if (third.kind !== 'leased') throw new Error('expected a lease');
    const { batchId, base, ...holding } = third.lease;
    const made = { version: base.version + 1, checkpointId: derivedId('made of', batchId), backend: 'test', weights: WEIGHTS };
    const ack = () =>
      service.ack({ leaseId: holding.leaseId, fence: holding.fence, ...made, kept: null, loss: null, metrics: {} });
    expect([(await counted(ack)).kind, count(), await events()]).toEqual(['acked', 3 + notice, 10]);
  },
);

test('a lease that waited for the lock of its policy lasts from the end of the wait on', async () => {
  const { service } = await given('awaited', 'outbox');
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

test('a claim whose session has forgotten the statements that it prepared is made all the same', async () => {
  const policyId = 'forgotten statements';
  const { service } = await given(policyId, 'log');
  const claim = async () => (await service.lease({ policyId, consumer: 'trainer', ttlMs: 60_000 })).kind;
  expect(await claim()).toBe('leased');
  const { pool } = platform.database;
  const sessions = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const session of sessions) {
    await session.query('deallocate all'); // as one that a pooler lends does not have them
    session.release();
  }
  expect(await claim()).toBe('leased'); // by the consumer that holds it
  expect(await claim()).toBe('leased');
});
