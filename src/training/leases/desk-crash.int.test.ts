import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createRandom } from '../../domain/random/random.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { EventLog, Subscription } from '../../log/event-log.ts';
import { openDesk } from '../../platform/open-desk.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Database } from '../../postgres/database.ts';
import { runProjections } from '../../projections/runner.ts';
import { settle } from '../../testing/crashing-run.ts';
import { openMortal } from '../../testing/cut-connection.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { Story } from '../../testing/story.ts';
import { appendTold, tellBatches } from '../../testing/tell-batches.ts';

const BATCHES = 2;
const SEEDED = 50; // of 182 points; all of them take 25 s and hold as well

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

const sha = (text: string) => createHash('sha256').update(text).digest('hex');

/** What a trainer does: registers its policy, then leases and acknowledges until `BATCHES` are trained. Deterministic, as a restart must be. */
async function train(policyId: string, world: { readonly database: Database; readonly log: EventLog }): Promise<void> {
  const desk = openDesk({ ...world, blobs: platform.blobs });
  await desk.registerPolicy({ policyId, backend: 'test', weights: sha(policyId), kept: null });
  for (;;) {
    const answer = await desk.lease({ policyId, consumer: 'trainer', ttlMs: 60_000 });
    if (answer.kind === 'nothing' && answer.head.version === BATCHES) return;
    if (answer.kind !== 'leased') throw new Error(`not leased: ${JSON.stringify(answer)}`);
    const { leaseId, fence, batchId, base } = answer.lease;
    const weights = sha(`${base.weights} ${batchId}`); // a batch trained twice, or out of order, would end in other weights
    const made = { version: base.version + 1, checkpointId: derivedId('made', weights), weights };
    const acked = await desk.ack({ leaseId, fence, ...made, backend: 'test', kept: null, loss: null, metrics: {} });
    if (acked.kind !== 'acked') throw new Error(`not acknowledged: ${JSON.stringify(acked)}`);
  }
}

/** Tells the batches of a policy for the trainer that is killed at each of these points. */
async function given(policies: readonly string[]): Promise<void> {
  for (const policyId of policies) {
    const story = new Story(policyId);
    tellBatches(story, { policyId, batches: BATCHES, members: 1, steps: 1 });
    await appendTold(platform.log, story.events);
  }
  await settle(platform);
}

async function recordOf(policyId: string) {
  const lineageId = derivedId('lineage', policyId);
  const rows = await platform.database.db
    .selectFrom('events')
    .select(['type', 'body'])
    .where('stream', '=', lineageId)
    .where('producer', '=', 'lease-desk')
    .orderBy('position')
    .execute();
  const events = rows.map(({ type, body }) => ({ type, data: JSON.parse(body).data }));
  const of = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
  const leases = of('BatchLeased');
  const ends = [...of('LeaseExpired'), ...of('BatchReturned'), ...of('BatchAcked')];
  return {
    batches: of('BatchAcked').map(({ batchId }) => batchId),
    versions: of('PolicyUpdated').map(({ version, parentVersion }) => [version, parentVersion]),
    weights: of('PolicyUpdated').map(({ weights }) => weights),
    checkpoints: of('CheckpointSaved').map(({ covers }) => covers),
    unended: leases.filter(({ leaseId }) => !ends.some((end) => end.leaseId === leaseId)),
    endedTwice: ends.length - new Set(ends.map(({ leaseId }) => leaseId)).size,
    // Every ack, checkpoint and version stand together, in this order.
    triples: events
      .filter(({ type }) => ['BatchAcked', 'CheckpointSaved', 'PolicyUpdated'].includes(type))
      .map(({ type }) => type),
  };
}

test('a trainer killed between any two statements, or with an answer lost, loses nothing and trains nothing twice', async () => {
  await given(['undisturbed']);
  const whole = await openMortal(platform.databaseUrl, platform.log, Number.POSITIVE_INFINITY, 'before');
  await train('undisturbed', whole);
  const points = whole.steps();
  await whole.close();
  await settle(platform);
  const quiet = await recordOf('undisturbed');
  expect(quiet).toMatchObject({
    checkpoints: [null, 0, 1],
    versions: [
      [0, null],
      [1, 0],
      [2, 1],
    ],
    unended: [],
    endedTwice: 0,
  });
  expect(quiet.triples.slice(2)).toEqual([
    'BatchAcked',
    'CheckpointSaved',
    'PolicyUpdated',
    'BatchAcked',
    'CheckpointSaved',
    'PolicyUpdated',
  ]);
  expect(points).toBeGreaterThan(40);

  const random = createRandom(5);
  const all = Array.from({ length: points }, (_, i) =>
    (['before', 'after'] as const).map((moment) => ({ killAt: i + 1, moment })),
  ).flat();
  const chosen = all.length <= SEEDED ? all : all.sort(() => random.next() - 0.5).slice(0, SEEDED);
  const policies = chosen.map(({ killAt, moment }) => `killed ${moment} ${killAt}`);
  await given(policies);
  let died = 0;
  for (const [i, { killAt, moment }] of chosen.entries()) {
    const policyId = policies[i] ?? '';
    const mortal = await openMortal(platform.databaseUrl, platform.log, killAt, moment);
    // The relay's faults are its own affair: a desk whose relay died answers, and its next statement fails.
    await train(policyId, mortal).catch((error: unknown) => {
      if (!mortal.dead()) throw error;
    });
    if (mortal.dead()) died++;
    await mortal.close();
    await train(policyId, platform);
  }
  expect(died).toBe(chosen.length);
  await settle(platform);
  for (const policyId of policies) {
    const record = await recordOf(policyId);
    const batches = [0, 1].map((ordinal) => derivedId('batch', derivedId('lineage', policyId), ordinal));
    const weights = [sha(policyId)];
    for (const batchId of batches) weights.push(sha(`${weights.at(-1)} ${batchId}`));
    expect({ policyId, ...record }).toEqual({ policyId, ...quiet, batches, weights });
  }
  const { db } = platform.database;
  expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  // An append whose mark was lost is repeated: the journal keeps the first. Nothing is missing and nothing out of order.
  const anomalies = await db.selectFrom('anomalies').select('kind').distinct().execute();
  expect(anomalies.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
  const { rows } = await platform.database.pool.query('select * from outbox where relayed_at is null');
  expect(rows).toEqual([]);
}, 120_000);
