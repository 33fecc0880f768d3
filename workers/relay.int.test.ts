import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from '../src/log/event-log.ts';
import type { Platform } from '../src/platform/open-platform.ts';
import { runProjections } from '../src/projections/runner.ts';
import { environmentOf, settle } from '../src/testing/crashing-run.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { appendRecorded, recordBatches } from '../src/testing/record-batches.ts';
import { until } from '../src/testing/until.ts';
import { killRunning, startRole } from '../src/testing/worker-process.ts';
import { createLeaseService } from '../src/training/leases/lease-service.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeEach(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterEach(async () => {
  await killRunning();
  await projector.close();
  await platform.close();
});
afterAll(killRunning);

test('the relay worker, killed and restarted, appends what other processes decided and ends expired leases', async () => {
  const { database, blobs, stamp, log } = platform;
  const policyId = 'relayed';
  const builder = new EventBuilder(policyId);
  const { lineageId } = recordBatches(builder, { policyId });
  await appendRecorded(log, builder.events);
  await settle(platform);
  const service = createLeaseService({ db: database.db, blobs, stamp, producer: { name: 'service', version: '1' } });
  await service.registerPolicy({ policyId, backend: 'test', weights: 'a'.repeat(64), kept: null });
  const typesOf = async () =>
    (await database.db.selectFrom('events').select('type').where('stream', '=', lineageId).orderBy('position').execute()).map(
      ({ type }) => type,
    );
  expect(await typesOf()).toEqual(['BatchPlanned']); // durable in Postgres, not yet in the log

  const relay = startRole('relay', environmentOf(platform));
  await until(async () => (await typesOf()).length === 3, 60_000);
  relay.kill('SIGKILL');
  await relay.ended;
  expect(await service.lease({ policyId, consumer: 'c', ttlMs: 100 })).toMatchObject({ kind: 'leased' });
  expect(await typesOf()).toHaveLength(3);
  const again = startRole('relay', environmentOf(platform));
  await until(async () => (await typesOf()).includes('LeaseExpired'), 60_000);
  again.kill('SIGTERM');
  expect(await again.ended).toBe(0);
  expect(await typesOf()).toEqual(['BatchPlanned', 'CheckpointSaved', 'PolicyUpdated', 'BatchLeased', 'LeaseExpired']);
  expect(await database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
});
