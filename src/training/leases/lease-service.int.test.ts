import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import { readLedgers } from '../../projections/training-pool/read-ledger.ts';
import { settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRecorded, recordBatches } from '../../testing/record-batches.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { openLeaseService } from '../../usecases/train/open-lease-service.ts';
import type { LeaseService } from './lease-service.ts';
import type { AckRequest, Lease } from './protocol.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let service: LeaseService;
beforeAll(async () => {
  service = openLeaseService(platform);
});

const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const consumer = 'trainer-1';
const ttlMs = 60_000;

/** Records batches of a policy and registers it. */
async function given(policyId: string, batches = 2) {
  const builder = new EventBuilder(policyId);
  const recorded = recordBatches(builder, { policyId, batches, steps: 1, members: 1 });
  await appendRecorded(platform.log, builder.events);
  await settle(platform);
  const answer = await service.registerPolicy({ policyId, backend: 'test', weights: sha(policyId), kept: null });
  expect(answer.kind).toBe('registered');
  return recorded;
}
async function leased(policyId: string, more: { consumer?: string; ttlMs?: number } = {}): Promise<Lease> {
  const answer = await service.lease({ policyId, consumer, ttlMs, ...more });
  if (answer.kind !== 'leased') throw new Error(`there is a batch for ${policyId}, not ${JSON.stringify(answer)}`);
  return answer.lease;
}
function ackOf({ leaseId, fence, batchId, base }: Lease, changes: Partial<AckRequest> = {}): AckRequest {
  const result = { version: base.version + 1, checkpointId: derivedId('made of', batchId), weights: sha(batchId) };
  return { leaseId, fence, ...result, backend: 'test', kept: null, loss: null, metrics: { loss: 0.5 }, ...changes };
}
/** The lineage's events in the journal but the plans, in their order. */
async function recorded(lineageId: string) {
  await settle(platform);
  const rows = await platform.database.db
    .selectFrom('events')
    .select(['type', 'body', 'sequence'])
    .where('stream', '=', lineageId)
    .where('producer', '=', 'lease-desk')
    .orderBy('position')
    .execute();
  expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, i) => i));
  return rows.map(({ type, body }) => ({ type, data: JSON.parse(body).data }));
}
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe('leases', () => {
  test('a lease covers the next batch in order, and the one after it is leased on top of the resulting version', async () => {
    const { batchIds, lineageId } = await given('chain', 3);
    for (const [ordinal, batchId] of batchIds.entries()) {
      const lease = await leased('chain');
      expect(lease).toMatchObject({ batchId, ordinal, fence: 1, consumer, samples: 1, estimator: { name: 'grpo' } });
      expect(lease.base.version).toBe(ordinal);
      expect(lease.deadline.getTime()).toBeGreaterThan(Date.now() + ttlMs - 10_000);
      expect(await service.ack(ackOf(lease))).toEqual({
        kind: 'acked',
        batchId,
        ordinal,
        version: ordinal + 1,
        checkpointId: derivedId('made of', batchId),
      });
    }
    expect(await service.lease({ policyId: 'chain', consumer, ttlMs })).toMatchObject({
      kind: 'nothing',
      busyUntil: null,
      head: { version: 3 },
    });
    const events = await recorded(lineageId);
    const round = ['BatchLeased', 'BatchAcked', 'CheckpointSaved', 'PolicyUpdated'];
    expect(typesOf(events)).toEqual(['CheckpointSaved', 'PolicyUpdated', ...round, ...round, ...round]);
    const updates = events.filter(({ type }) => type === 'PolicyUpdated').map(({ data }) => data);
    expect(updates.map(({ version, parentVersion, batchId }) => [version, parentVersion, batchId])).toEqual([
      [0, null, null],
      ...batchIds.map((batchId, ordinal) => [ordinal + 1, ordinal, batchId]),
    ]);
    expect(updates[1]).toMatchObject({
      estimator: { name: 'grpo' },
      samples: 1,
      metrics: { loss: 0.5 },
      weights: sha(batchIds[0] ?? ''),
    });
    expect(events.filter(({ type }) => type === 'CheckpointSaved').map(({ data }) => data.covers)).toEqual([null, 0, 1, 2]);
  });

  test('one of many concurrent requests gets the lease, and the others learn until when it is held', async () => {
    await given('crowd');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => service.lease({ policyId: 'crowd', consumer: `trainer-${i}`, ttlMs })),
    );
    expect(answers.filter(({ kind }) => kind === 'leased')).toHaveLength(1);
    const others = answers.filter(({ kind }) => kind !== 'leased');
    expect(others).toEqual(others.map(() => expect.objectContaining({ kind: 'nothing', busyUntil: expect.any(Date) })));
  });

  test('a lease requested again by its own consumer has the next fence, and the former one is stale', async () => {
    const { lineageId, batchIds } = await given('restarted');
    const before = await leased('restarted');
    const after = await leased('restarted');
    expect(after).toMatchObject({ batchId: batchIds[0], fence: 2 });
    expect(after.leaseId).not.toBe(before.leaseId);
    expect(await service.ack(ackOf(before))).toMatchObject({ kind: 'refused', code: 'stale-fence' });
    expect(await service.ack(ackOf(after))).toMatchObject({ kind: 'acked' });
    expect(typesOf(await recorded(lineageId)).slice(2, 5)).toEqual(['BatchLeased', 'BatchReturned', 'BatchLeased']);
  });

  test('a lease past its deadline is refused whatever it asks, and its batch is leased again', async () => {
    const { lineageId, batchIds } = await given('late');
    const late = await leased('late', { ttlMs: 100 });
    const again = await untilLeased('late', 'trainer-2');
    expect(again).toMatchObject({ batchId: batchIds[0], fence: 2, consumer: 'trainer-2' });
    const refusal = { kind: 'refused', code: 'stale-fence', remedy: expect.stringContaining('lease again') };
    expect(await service.ack(ackOf(late))).toMatchObject(refusal);
    expect(await service.renew({ ...late, ttlMs })).toMatchObject(refusal);
    expect(await service.nack({ ...late, reason: 'x' })).toMatchObject(refusal);
    expect(await service.ack(ackOf({ ...again, fence: 1 }))).toMatchObject(refusal);
    expect(await service.ack(ackOf(again))).toMatchObject({ kind: 'acked', version: 1 });
    expect(typesOf(await recorded(lineageId)).slice(2, 6)).toEqual(['BatchLeased', 'LeaseExpired', 'BatchLeased', 'BatchAcked']);
  });

  test('an expired lease is ended once, by the sweep or by a late acknowledgement', async () => {
    const { lineageId } = await given('swept');
    await leased('swept', { ttlMs: 100 });
    await until(async () => (await service.expire()) === 1);
    expect(await service.expire()).toBe(0);
    const second = await leased('swept', { ttlMs: 100 });
    await until(() => over(second));
    expect(await service.ack(ackOf(second))).toMatchObject({ code: 'stale-fence', message: expect.stringContaining('deadline') });
    expect(await service.expire()).toBe(0);
    const expected = ['BatchLeased', 'LeaseExpired', 'BatchLeased', 'LeaseExpired'];
    expect(typesOf(await recorded(lineageId)).slice(2)).toEqual(expected);
  });

  test('a renewal keeps a lease', async () => {
    await given('renewed');
    const lease = await leased('renewed', { ttlMs: 5_000 });
    const answer = await service.renew({ ...lease, ttlMs: 600_000 });
    expect(answer.kind === 'renewed' && answer.deadline.getTime() - lease.deadline.getTime()).toBeGreaterThan(500_000);
    expect(await service.lease({ policyId: 'renewed', consumer: 'other', ttlMs })).toMatchObject({ kind: 'nothing' });
  });

  test('a returned batch can be leased at once, with the reason recorded', async () => {
    const { lineageId, batchIds } = await given('returned');
    const lease = await leased('returned');
    expect(await service.nack({ ...lease, reason: 'out of memory' })).toEqual({ kind: 'returned', batchId: batchIds[0] });
    expect(await service.nack({ ...lease, reason: 'again' })).toMatchObject({ code: 'stale-fence' });
    expect(await leased('returned', { consumer: 'other' })).toMatchObject({ batchId: batchIds[0], fence: 2 });
    const returned = (await recorded(lineageId)).find(({ type }) => type === 'BatchReturned');
    expect(returned?.data).toMatchObject({ reason: 'out of memory', fence: 1 });
  });
});

/** Whether the database's clock is past a deadline. */
async function over({ deadline }: Lease): Promise<boolean> {
  const { rows } = await platform.database.pool.query<{ over: boolean }>('select clock_timestamp() > $1 as over', [deadline]);
  return rows[0]?.over ?? false;
}
async function untilLeased(policyId: string, by: string): Promise<Lease> {
  let lease: Lease | undefined;
  await until(async () => {
    const answer = await service.lease({ policyId, consumer: by, ttlMs });
    if (answer.kind === 'leased') lease = answer.lease;
    return lease !== undefined;
  });
  if (!lease) throw new Error('`until` saw it');
  return lease;
}

describe('acknowledgements', () => {
  test('a repeated acknowledgement gets the same answer and appends nothing', async () => {
    const { lineageId } = await given('lost answer');
    const lease = await leased('lost answer');
    const first = await service.ack(ackOf(lease));
    const before = await recorded(lineageId);
    expect(await service.ack(ackOf(lease))).toEqual(first);
    await service.lease({ policyId: 'lost answer', consumer, ttlMs }); // even when the next batch is out
    expect(await service.ack(ackOf(lease))).toEqual(first);
    expect(typesOf(await recorded(lineageId))).toEqual([...typesOf(before), 'BatchLeased']);
  });

  test('an acknowledgement of a trained batch with other weights or another checkpoint is refused', async () => {
    await given('twice');
    const lease = await leased('twice');
    await service.ack(ackOf(lease));
    for (const changes of [{ weights: sha('other') }, { checkpointId: newId() }, { version: 2 }])
      expect(await service.ack(ackOf(lease, changes))).toMatchObject({ kind: 'refused', code: 'already-acked' });
  });

  test('an acknowledgement names the next version of the chain and its own checkpoint', async () => {
    await given('versions');
    const lease = await leased('versions');
    for (const version of [2, 7])
      expect(await service.ack(ackOf(lease, { version }))).toMatchObject({
        code: 'version-conflict',
        remedy: expect.stringContaining('version 1'),
      });
    expect(await service.ack(ackOf(lease, { checkpointId: lease.base.checkpointId }))).toMatchObject({
      code: 'version-conflict',
    });
    expect(await service.ack(ackOf(lease))).toMatchObject({ kind: 'acked' });
  });

  test.each<[string, Partial<AckRequest>]>([
    ['leaseId', { leaseId: 'x' }],
    ['fence', { fence: 0 }],
    ['version', { version: 0 }],
    ['checkpointId', { checkpointId: 'X' }],
    ['weights', { weights: 'abc' }],
    ['metrics.loss', { metrics: { loss: Number.NaN } }],
    ['backend', { backend: '' }],
  ])('an acknowledgement with a wrong %s is refused by that field', async (field, changes) => {
    const result = { version: 1, checkpointId: newId(), weights: sha('w'), backend: 'test', kept: null, loss: null, metrics: {} };
    expect(await service.ack({ leaseId: newId(), fence: 1, ...result, ...changes })).toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(field),
    });
  });
});

describe('abandonments', () => {
  test('a batch abandoned by its trainer is never trained: its lease is over, and the next batch is leased on the same base', async () => {
    const { batchIds, lineageId } = await given('abandoned', 3);
    await service.ack(ackOf(await leased('abandoned')));
    const lease = await leased('abandoned');
    const answer = { kind: 'abandoned', batchId: batchIds[1], ordinal: 1 };
    expect(await service.abandon({ ...lease, reason: 'its rows contradict themselves' })).toEqual(answer);
    expect(await service.abandon({ ...lease, reason: 'said again' })).toEqual(answer);
    const refusal = { kind: 'refused', code: 'stale-fence', message: expect.stringContaining('batch 1 was abandoned') };
    expect(await service.ack(ackOf(lease))).toMatchObject(refusal);
    expect(await service.renew({ ...lease, ttlMs })).toMatchObject(refusal);
    expect(await service.nack({ ...lease, reason: 'x' })).toMatchObject(refusal);
    const next = await leased('abandoned');
    expect(next).toMatchObject({ batchId: batchIds[2], ordinal: 2, fence: 1, base: { version: 1 } });
    expect(await service.ack(ackOf(next))).toMatchObject({ kind: 'acked', version: 2 });
    const events = await recorded(lineageId);
    const abandoned = events.filter(({ type }) => type === 'BatchAbandoned');
    const { leaseId, fence } = lease;
    expect(abandoned.map(({ data }) => data)).toEqual([
      {
        lineageId,
        policyId: 'abandoned',
        batchId: batchIds[1],
        ordinal: 1,
        by: 'trainer',
        leaseId,
        fence,
        reason: 'its rows contradict themselves',
      },
    ]);
    expect((await readLedgers(platform.database.db, ['abandoned']))[0]).toMatchObject({
      produced: 3,
      trained: 2,
      abandoned: 1,
      difference: 0,
      owed: { group: 0, ready: 0, planned: 0, leased: 0 },
    });
  });

  test('an abandonment by an operator ends the lease of the holder', async () => {
    const { batchIds } = await given('by hand');
    const lease = await leased('by hand');
    const asked = { batchId: batchIds[0] ?? '', reason: 'no machine can hold it' };
    expect(await service.abandon(asked)).toEqual({ kind: 'abandoned', batchId: batchIds[0], ordinal: 0 });
    expect(await service.abandon(asked)).toEqual({ kind: 'abandoned', batchId: batchIds[0], ordinal: 0 });
    expect(await service.ack(ackOf(lease))).toMatchObject({ code: 'stale-fence', message: expect.stringContaining('abandoned') });
    expect(await leased('by hand')).toMatchObject({ batchId: batchIds[1], fence: 1, base: { version: 0 } });
  });

  test('an abandoned batch must be planned, untrained and the next one, and needs a reason', async () => {
    const { batchIds } = await given('order', 2);
    const [first = '', second = ''] = batchIds;
    const reason = 'because';
    expect(await service.abandon({ batchId: second, reason })).toMatchObject({
      code: 'not-next',
      message: expect.stringContaining('batch 0 comes before it'),
    });
    await service.ack(ackOf(await leased('order')));
    expect(await service.abandon({ batchId: first, reason })).toMatchObject({ code: 'already-acked' });
    expect(await service.abandon({ batchId: newId(), reason })).toMatchObject({ code: 'unknown-batch' });
    expect(await service.abandon({ batchId: 'x', reason })).toMatchObject({ code: 'invalid' });
    expect(await service.abandon({ batchId: second, reason: ' ' })).toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('reason'),
    });
  });

  test('an abandonment survives the loss of the lease service and its restoration from an older copy', async () => {
    const { batchIds } = await given('forgotten', 4);
    const { pool } = platform.database;
    const tables = ['lease_desk', 'lease_grants', 'lease_acks', 'lease_abandonments', 'outbox_streams'];
    const early = await leased('forgotten');
    for (const table of tables) await pool.query(`create table copy_of_${table} as table ${table}`);
    await service.abandon({ ...early, reason: 'unreadable' });
    await service.ack(ackOf(await leased('forgotten')));
    await settle(platform);
    await pool.query(`truncate ${tables.join(', ')}`);
    for (const table of tables) await pool.query(`insert into ${table} table copy_of_${table}`);
    await pool.query("update desk_database set name = 'of the server that was copied'");
    expect(await service.ack(ackOf(early))).toMatchObject({ code: 'stale-fence' });
    expect(await service.abandon({ ...early, reason: 'again' })).toMatchObject({ kind: 'abandoned', ordinal: 0 });
    const third = await leased('forgotten');
    expect(third).toMatchObject({ batchId: batchIds[2], ordinal: 2, base: { version: 1 } });
    await settle(platform);
    await pool.query(`truncate ${tables.join(', ')}; delete from outbox`);
    expect(await leased('forgotten', { consumer: 'other' })).toMatchObject({
      batchId: batchIds[2],
      fence: 2,
      base: { version: 1 },
    });
    for (const table of tables) await pool.query(`drop table copy_of_${table}`);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });
});

describe('policies', () => {
  test('an unregistered policy and an unknown lease are refused with the remedy', async () => {
    expect(await service.lease({ policyId: 'nobody', consumer, ttlMs })).toMatchObject({
      kind: 'refused',
      code: 'unknown-policy',
      remedy: expect.stringContaining('register'),
    });
    expect(await service.renew({ leaseId: newId(), fence: 1, ttlMs })).toMatchObject({ code: 'unknown-lease' });
  });

  test('a second registration with the same weights changes nothing, and one with others is refused', async () => {
    const { lineageId } = await given('registered');
    const again = { policyId: 'registered', backend: 'test', weights: sha('registered'), kept: null };
    expect(await service.registerPolicy(again)).toMatchObject({ kind: 'registered', lineageId, head: { version: 0 } });
    expect(await service.registerPolicy({ ...again, weights: sha('other') })).toMatchObject({ code: 'already-registered' });
    expect(typesOf(await recorded(lineageId))).toEqual(['CheckpointSaved', 'PolicyUpdated']);
  });

  test('a policy is leased only to a trainer that holds its newest version, when the trainer names the one it holds', async () => {
    await given('based');
    const stale = await service.lease({ policyId: 'based', consumer, ttlMs, baseVersion: 3 });
    expect(stale).toMatchObject({ code: 'stale-base', remedy: expect.stringContaining(sha('based')) });
    expect(await service.lease({ policyId: 'based', consumer, ttlMs, baseVersion: 0 })).toMatchObject({ kind: 'leased' });
  });

  test('a lost lease service continues where the log ends, and its former leases stay invalid', async () => {
    const { batchIds, lineageId } = await given('lost', 2);
    await service.ack(ackOf(await leased('lost')));
    const under = await leased('lost');
    await settle(platform);
    await platform.database.pool.query(`
      delete from lease_acks; delete from lease_abandonments; delete from lease_grants; delete from lease_desk; delete from outbox; delete from outbox_streams`);
    const lease = await leased('lost', { consumer: 'other' });
    expect(lease).toMatchObject({
      batchId: batchIds[1],
      ordinal: 1,
      fence: 2,
      base: { version: 1, weights: sha(batchIds[0] ?? '') },
    });
    expect(await service.ack(ackOf(under))).toMatchObject({ code: 'stale-fence' });
    expect(await service.ack(ackOf(lease))).toMatchObject({ kind: 'acked', version: 2 });
    const events = await recorded(lineageId);
    expect(events.filter(({ type }) => type === 'BatchAcked').map(({ data }) => data.batchId)).toEqual(batchIds);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
  });

  test('a lease service restored from an older copy learns the later decisions from the log, and trains nothing twice', async () => {
    const { batchIds, lineageId } = await given('restored', 4);
    const { pool } = platform.database;
    const known = await leased('restored');
    // The copy: batch 0 is leased. Behind it: batch 0 and 1 are acknowledged, batch 2 is leased twice, the second lease is open.
    const tables = ['lease_desk', 'lease_grants', 'lease_acks', 'lease_abandonments', 'outbox_streams'];
    for (const table of tables) await pool.query(`create table copy_of_${table} as table ${table}`);
    const first = ackOf(known);
    await service.ack(first);
    await service.ack(ackOf(await leased('restored')));
    await leased('restored');
    const lost = await leased('restored');
    expect([lost.ordinal, lost.fence]).toEqual([2, 2]);
    await pool.query(`truncate ${tables.join(', ')}`);
    for (const table of tables) await pool.query(`insert into ${table} table copy_of_${table}`);
    await pool.query("update desk_database set name = 'of the server that was copied'");

    expect(await service.ack(first)).toMatchObject({ kind: 'acked', version: 1 }); // its answer was lost with the database
    expect(await service.ack(ackOf(lost))).toMatchObject({ code: 'stale-fence' });
    const lease = await leased('restored');
    expect(lease).toMatchObject({ ordinal: 2, fence: 3, base: { version: 2, weights: sha(batchIds[1] ?? '') } });
    expect(await service.ack(ackOf(lease))).toMatchObject({ kind: 'acked', version: 3 });
    expect(await service.ack(ackOf(await leased('restored')))).toMatchObject({ kind: 'acked', version: 4 });
    const events = await recorded(lineageId);
    expect(events.filter(({ type }) => type === 'BatchAcked').map(({ data }) => data.batchId)).toEqual(batchIds);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    expect(await platform.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
    for (const table of tables) await pool.query(`drop table copy_of_${table}`);
  });
});
