import { afterEach, expect, test } from '@jest/globals';
import type { Notices } from '../../postgres/notices.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { openLeaseService } from '../../usecases/train/open-lease-service.ts';
import { packAhead } from './pack-ahead.ts';
import { createPackedRows, type PackedRows } from './packed-rows.ts';
import { openRowFormatHints } from './row-format-hints.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const WEIGHTS = 'a'.repeat(64);
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  await platform.database.pool.query('update batches set planned_at = $1', [new Date(0)]); // those of this test are over
});

/** Notices of which there is one whenever the test says so. */
function notified(): Notices & { look(): void } {
  let count = 0;
  let wake: () => void = () => undefined;
  return {
    get count() {
      return count;
    },
    look() {
      count++;
      wake();
    },
    async beyond(seen, _limitMs, signal) {
      if (count > seen || signal.aborted) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    },
    close: async () => undefined,
  };
}

async function given(policyId: string, batches: number, backend = 'mine') {
  const builder = new EventBuilder(policyId);
  const recorded = recordBatches(builder, { policyId, batches, steps: 1, members: 1, tokens: 1_000 });
  await appendRecorded(platform.log, builder.events);
  await settle(platform);
  await platform.database.pool.query('update batches set planned_at = now() where policy_id = $1', [policyId]);
  await openLeaseService(platform).registerPolicy({ policyId, backend, weights: WEIGHTS, kept: null });
  return recorded.batchIds;
}

function started(keptBytes?: number, asking = openRowFormatHints()) {
  const { db } = platform.database;
  const rows = createPackedRows({ db, blobs: platform.blobs }, keptBytes);
  const asked: string[] = [];
  const dropped: string[] = [];
  const packed: PackedRows = {
    ...rows,
    get: (batchId, layout, advantages = 'without') => {
      asked.push(`${batchId} ${layout} ${advantages}`);
      return rows.get(batchId, layout, advantages);
    },
    drop: (batchId, form) => {
      dropped.push(batchId);
      rows.drop(batchId, form);
    },
  };
  const notices = notified();
  const packing = packAhead({ db, packed, asking, notices }, { lookMs: 1, quietMs: 50 });
  opened.push(packing);
  return { asked, dropped, notices, asking, rows };
}

const plain = (batchId: string | undefined) => `${batchId} step without`;
const sizeOf = async (batchId = '') => {
  const body = await createPackedRows({ db: platform.database.db, blobs: platform.blobs }).get(batchId, 'step');
  return body.kind === 'encoded' ? body.bytes : 0;
};

test('batches are packed before anyone leases them, the next of each policy first, and a body is dropped when its batch is trained', async () => {
  const [first, second] = [await given('first', 3), await given('second', 2)];
  await given('of our own', 2, 'linear');
  const { asked, dropped, notices } = started();
  await until(() => asked.length === 5);
  expect(new Set(asked.slice(0, 2))).toEqual(new Set([plain(first[0]), plain(second[0])]));
  expect(new Set(asked)).toEqual(new Set([...first, ...second].map(plain)));

  const service = openLeaseService(platform);
  const leased = await service.lease({ policyId: 'first', consumer: 'trainer', ttlMs: 60_000 });
  if (leased.kind !== 'leased') throw new Error('a batch is planned');
  const { leaseId, fence } = leased.lease;
  const made = { version: 1, checkpointId: crypto.randomUUID(), backend: 'mine', weights: WEIGHTS, kept: null };
  await service.ack({ leaseId, fence, ...made, loss: null, metrics: {} });
  notices.look();
  await until(() => dropped.length === 1);
  expect([dropped, asked.length]).toEqual([[first[0]], 5]);
});

test('no more is packed than has room, each policy has an equal share, and what is kept for others stays', async () => {
  const [many, few] = [await given('many', 6), await given('few', 6)];
  const bytes = await sizeOf(many[0]);
  const asking = openRowFormatHints();
  const { asked, rows, notices } = started(Math.ceil(4.5 * bytes), asking);
  await until(() => asked.length === 4);
  notices.look();
  await until(() => rows.room().free < bytes);
  expect(new Set(asked)).toEqual(new Set([many[0], many[1], few[0], few[1]].map(plain)));
});

test('batches are packed in the form in which their policy was read last, and nothing is packed while trainers ask', async () => {
  const batchIds = await given('merged', 2);
  await platform.database.pool.query('update batches set planned_at = $1', [new Date(0)]); // a lease alone shows that it goes on
  let now = 0;
  const asking = openRowFormatHints(() => now);
  asking.note('merged', { layout: 'step', advantages: 'with' });
  const { asked, dropped, notices } = started(undefined, asking);
  for (let i = 0; i < 5; i++) {
    notices.look();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(asked).toEqual([]);
  now = 100;
  notices.look();
  await until(() => asked.length === 2);
  expect(new Set(asked)).toEqual(new Set(batchIds.map((id) => `${id} step with`)));

  asking.note('merged', { layout: 'padded', advantages: 'without' }); // another trainer, which reads it so
  now = 200;
  notices.look();
  await until(() => asked.length === 4);
  expect(new Set(asked.slice(2))).toEqual(new Set(batchIds.map((id) => `${id} padded without`)));
  expect(new Set(dropped)).toEqual(new Set(batchIds));
});

test('a batch whose rows cannot be read is left to who leases it, and the others are packed', async () => {
  const batchIds = await given('damaged', 3);
  await platform.database.pool.query(
    'update rollouts set leaf_step_id = null where rollout_id in (select rollout_id from batch_samples where batch_id = $1)',
    [batchIds[0]],
  );
  const { asked, notices } = started();
  await until(() => asked.length === 3);
  notices.look();
  notices.look();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(asked).toEqual(batchIds.map(plain));
});
