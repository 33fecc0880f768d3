import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import { openPlatform, type Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { holdAppends } from '../../testing/hold-appends.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { openLeaseService } from '../../usecases/train/open-lease-service.ts';
import { createRelay, type Relay } from '../outbox/relay.ts';
import { createLeaseService } from './lease-service.ts';
import { lineageIdOf } from './lineage-of.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeEach(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterEach(async () => {
  await projector.close();
  await platform.close();
});

const policyOf = (policyId: string) => ({ policyId, backend: 'test', weights: 'a'.repeat(64), kept: null });

async function given(policyId: string, batches = 2): Promise<void> {
  const builder = new EventBuilder(policyId);
  recordBatches(builder, { policyId, batches, steps: 1, members: 1 });
  await appendRecorded(platform.log, builder.events);
  await settle(platform);
}
/** A lease service that appends to the log by its own transactions, and leaves to nobody what it could not. */
function serviceOf(options: { relayWaitMs?: number; log?: 'out of reach'; relay?: Relay } = {}) {
  const { database, blobs, stamp, log } = platform;
  const { whilePlaced } = log;
  if (!whilePlaced) throw new Error('the log lies in the database');
  return createLeaseService({
    db: database.db,
    blobs,
    stamp,
    producer: { name: 'lease-desk', version: '1' },
    ...(options.log ? {} : { whilePlaced }),
    ...(options.relay ? { relay: options.relay } : {}),
    ...(options.relayWaitMs === undefined ? {} : { relayWaitMs: options.relayWaitMs }),
  });
}
const claim = (policyId: string) => ({ policyId, consumer: 'trainer', ttlMs: 60_000 });
const count = async (text: string): Promise<number> =>
  (await platform.database.pool.query<{ n: number }>(`select count(*)::int as n from ${text}`)).rows[0]?.n ?? 0;
const waiting = () => count('outbox where relayed_at is null');

/** What the journal has of the lease service in a policy's stream, in the order of the log. */
async function journalled(policyId: string): Promise<readonly string[]> {
  await settle(platform);
  const rows = await platform.database.db
    .selectFrom('events')
    .select(['type', 'sequence'])
    .where('stream', '=', lineageIdOf(policyId))
    .where('producer', '=', 'lease-desk')
    .orderBy('position')
    .execute();
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, i) => i));
  expect(await platform.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
  return rows.map(({ type }) => type);
}

test('a claim that is killed before its commit leaves neither a lease nor an event, and the next one has the same fence', async () => {
  await given('killed');
  const service = serviceOf();
  await service.registerPolicy(policyOf('killed'));
  const appends = await holdAppends(platform, 0);
  const claimed = service.lease(claim('killed')).catch((error: unknown) => error);
  await appends.held();
  await platform.database.pool.query(`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%lease_service_decide%'
      and wait_event = 'advisory'`);
  expect(await claimed).toBeInstanceOf(Error);
  await appends.release();
  expect([await count('lease_grants'), await count('lease_desk where lease_id is not null'), await waiting()]).toEqual([0, 0, 0]);
  expect(await journalled('killed')).toEqual(['CheckpointSaved', 'PolicyUpdated']);
  expect(await service.lease(claim('killed'))).toMatchObject({ kind: 'leased', lease: { fence: 1 } });
  expect(await journalled('killed')).toEqual(['CheckpointSaved', 'PolicyUpdated', 'BatchLeased']);
});

test('an event waits behind what lies in the outbox of its policy, and only of its policy', async () => {
  await given('behind');
  await given('next to it');
  await serviceOf({ log: 'out of reach' }).registerPolicy(policyOf('behind'));
  const service = serviceOf();
  await service.registerPolicy(policyOf('next to it'));
  expect(await service.lease(claim('behind'))).toMatchObject({ kind: 'leased' });
  expect(await service.lease(claim('next to it'))).toMatchObject({ kind: 'leased' });
  expect(await waiting()).toBe(3);
  expect(await journalled('next to it')).toEqual(['CheckpointSaved', 'PolicyUpdated', 'BatchLeased']);
  expect(await journalled('behind')).toEqual([]);
  await createRelay({ db: platform.database.db, log: platform.log }).flush();
  await service.lease(claim('behind'));
  expect(await waiting()).toBe(0);
  const types = ['CheckpointSaved', 'PolicyUpdated', 'BatchLeased', 'BatchReturned', 'BatchLeased'];
  expect(await journalled('behind')).toEqual(types);
});

test('an append that waits longer than a call may is left to the relay, and the call is answered', async () => {
  await given('slow');
  const service = serviceOf({ relayWaitMs: 200 });
  await service.registerPolicy(policyOf('slow'));
  const appends = await holdAppends(platform, 0);
  expect(await service.lease(claim('slow'))).toMatchObject({ kind: 'leased' });
  expect(await waiting()).toBe(1);
  await appends.release();
  await createRelay({ db: platform.database.db, log: platform.log }).flush();
  expect(await journalled('slow')).toEqual(['CheckpointSaved', 'PolicyUpdated', 'BatchLeased']);
});

test('a call waits for the log once, whether it appends by itself or the relay does it', async () => {
  await given('waits once');
  let flushed = 0;
  const relay = { flush: () => new Promise<void>(() => flushed++) }; // its log never answers
  await serviceOf().registerPolicy(policyOf('waits once'));
  const appends = await holdAppends(platform, 0);
  const answer = await serviceOf({ relayWaitMs: 2_000, relay }).lease(claim('waits once'));
  expect(answer).toMatchObject({ kind: 'leased' });
  expect(flushed).toBe(1);
  await appends.release();
});

test('a batch is leased once where two processes decide about the same policies at once, and its events keep their order', async () => {
  const policies = ['one', 'two', 'three', 'four', 'five'];
  for (const policyId of policies) await given(policyId, 4);
  const second = await openPlatform(platform.config, 'second');
  try {
    const services = [openLeaseService(platform), openLeaseService(second)] as const;
    await Promise.all(services.flatMap((service) => policies.map((policyId) => service.registerPolicy(policyOf(policyId)))));
    const train = async (service: (typeof services)[number], policyId: string, consumer: string) => {
      for (;;) {
        const answer = await service.lease({ ...claim(policyId), consumer });
        if (answer.kind === 'nothing' && answer.head.version === 4) return;
        if (answer.kind !== 'leased') continue;
        const { leaseId, fence, batchId, base } = answer.lease;
        const made = { version: base.version + 1, checkpointId: derivedId('of', batchId), weights: 'b'.repeat(64) };
        const acked = await service.ack({ leaseId, fence, ...made, backend: 'test', kept: null, loss: null, metrics: {} });
        expect(acked).toMatchObject({ kind: 'acked', version: base.version + 1 });
      }
    };
    const work = services.flatMap((service, i) => policies.map((policyId) => train(service, policyId, `trainer ${i}`)));
    await Promise.all(work);
    await until(async () => (await waiting()) === 0);
    const batch = ['BatchLeased', 'BatchAcked', 'CheckpointSaved', 'PolicyUpdated'];
    for (const policyId of policies)
      expect(await journalled(policyId)).toEqual(['CheckpointSaved', 'PolicyUpdated', ...batch, ...batch, ...batch, ...batch]);
    expect(await count('outbox')).toBe(0); // nothing had to wait
  } finally {
    await second.close();
  }
});
