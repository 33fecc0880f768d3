import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type EventLog, LogError } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { holdAppends } from '../../testing/hold-appends.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { until } from '../../testing/until.ts';
import { createLeaseService } from '../leases/lease-service.ts';
import { createRelay, runRelay } from './relay.ts';

let platform: Platform & { readonly home: string };
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(() => platform.close());

const serviceOf = (log: EventLog, relayWaitMs: number) => {
  const { db } = platform.database;
  const producer = { name: 'service', version: '1' };
  return createLeaseService({
    db,
    blobs: platform.blobs,
    stamp: platform.stamp,
    producer,
    relay: createRelay({ db, log }),
    relayWaitMs,
  });
};
const policyOf = (policyId: string) => ({ policyId, backend: 'test', weights: 'a'.repeat(64), kept: null });
const waiting = async () =>
  (await platform.database.pool.query<{ n: number }>('select count(*)::int as n from outbox where relayed_at is null')).rows[0]
    ?.n;
async function ofTraining(): Promise<number> {
  let records = 0;
  for (const end of (await platform.log.ends(['training'])).get('training')?.values() ?? []) records += end;
  return records;
}

test('a call returns when its events are in the log, or durable in Postgres while the log is down', async () => {
  const service = serviceOf(platform.log, 200);
  expect(await service.registerPolicy(policyOf('relayed'))).toMatchObject({ kind: 'registered' });
  expect([await waiting(), await ofTraining()]).toEqual([0, 2]);
  const appends = await holdAppends(platform, 0);
  expect(await service.registerPolicy(policyOf('held'))).toMatchObject({ kind: 'registered' });
  expect([await waiting(), await ofTraining()]).toEqual([2, 2]);
  await appends.release();
  await until(async () => (await waiting()) === 0);
  expect(await ofTraining()).toBe(4);
});

test('two concurrent relays append each record once, with its place noted', async () => {
  const nowhere = serviceOf({ ...platform.log, append: () => Promise.reject(new LogError('unreachable', 'no log')) }, 10_000);
  for (const policyId of ['a', 'b', 'c']) await nowhere.registerPolicy(policyOf(policyId));
  expect([await waiting(), await ofTraining()]).toEqual([6, 0]);
  const { db } = platform.database;
  const relays = Array.from({ length: 4 }, () => createRelay({ db, log: platform.log }));
  await Promise.all(relays.flatMap((relay) => [relay.flush(), relay.flush()]));
  expect([await waiting(), await ofTraining()]).toEqual([0, 6]);
  const { rows } = await platform.database.pool.query('select distinct log_partition, log_offset from outbox');
  expect(rows).toHaveLength(6);
});

test('a running relay waits out a failing log, reports it, and is woken by new records', async () => {
  let failing = true;
  const faults: unknown[] = [];
  const log: EventLog = {
    ...platform.log,
    append: (records) => (failing ? Promise.reject(new LogError('unreachable', 'no broker')) : platform.log.append(records)),
  };
  const { database, databaseUrl, blobs, stamp } = platform;
  const relay = await runRelay({ db: database.db, log, databaseUrl, onFault: (error) => faults.push(error) });
  const service = createLeaseService({ db: database.db, blobs, stamp, producer: { name: 'service', version: '1' } });
  await service.registerPolicy(policyOf('waiting'));
  await until(() => faults.length > 0);
  expect(await waiting()).toBe(2);
  failing = false;
  await until(async () => (await waiting()) === 0);
  expect(await ofTraining()).toBe(2);
  await relay.close();
});
