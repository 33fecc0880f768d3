import { sha256Hex } from '../digest/sha256.ts';
import { createRandom } from '../domain/random/random.ts';
import { derivedId } from '../events/derived-id.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Database } from '../postgres/database.ts';
import { openLeaseService } from '../usecases/train/open-lease-service.ts';
import { settle } from './crashing-run.ts';
import { openMortal } from './cut-connection.ts';
import { EventBuilder } from './event-builder.ts';
import { appendRecorded, recordBatches } from './record-batches.ts';

const BATCHES = 3;
const UNREADABLE = 1; // the ordinal of the batch that its trainer abandons

export function sha(text: string): string {
  return sha256Hex(text);
}

/**
 * What a trainer does: registers its policy, then leases and acknowledges until all is trained but the one batch that it
 * abandons. Deterministic, as a restart must be.
 */
async function train(
  platform: Platform,
  policyId: string,
  world: { readonly database: Database; readonly log: EventLog },
): Promise<void> {
  const service = openLeaseService({ ...platform, ...world });
  await service.registerPolicy({ policyId, backend: 'test', weights: sha(policyId), kept: null });
  for (;;) {
    const answer = await service.lease({ policyId, consumer: 'trainer', ttlMs: 60_000 });
    if (answer.kind === 'nothing' && answer.head.version === BATCHES - 1) return;
    if (answer.kind !== 'leased') throw new Error(`not leased: ${JSON.stringify(answer)}`);
    const { leaseId, fence, batchId, base, ordinal } = answer.lease;
    if (ordinal === UNREADABLE) {
      const abandoned = await service.abandon({ leaseId, fence, reason: 'its rows cannot be read' });
      if (abandoned.kind !== 'abandoned') throw new Error(`not abandoned: ${JSON.stringify(abandoned)}`);
      continue;
    }
    const weights = sha(`${base.weights} ${batchId}`); // a batch trained twice, or out of order, would end in other weights
    const made = { version: base.version + 1, checkpointId: derivedId('made', weights), weights };
    const acked = await service.ack({ leaseId, fence, ...made, backend: 'test', kept: null, loss: null, metrics: {} });
    if (acked.kind !== 'acked') throw new Error(`not acknowledged: ${JSON.stringify(acked)}`);
  }
}

async function record(platform: Platform, policies: readonly string[]): Promise<void> {
  for (const policyId of policies) {
    const builder = new EventBuilder(policyId);
    recordBatches(builder, { policyId, batches: BATCHES, members: 1, steps: 1 });
    await appendRecorded(platform.log, builder.events);
  }
  await settle(platform);
}

export interface CrashedService {
  /** Statements and appends of an undisturbed trainer: at each it can be killed before, or after with the answer lost. */
  readonly points: number;
  /** The policies of the trainers that were killed, one point each. */
  readonly policies: readonly string[];
  /** How many really were. */
  readonly died: number;
}

/** Trains the policy `undisturbed`, then others, each by a trainer killed at a seeded point of its own and started again. */
export async function crashService(
  platform: Platform,
  options: { readonly seed: number; readonly kills: number },
): Promise<CrashedService> {
  await record(platform, ['undisturbed']);
  const whole = await openMortal(platform.databaseUrl, platform.log, Number.POSITIVE_INFINITY, 'before');
  await train(platform, 'undisturbed', whole);
  const points = whole.steps();
  await whole.close();

  const random = createRandom(options.seed);
  const all = Array.from({ length: points }, (_, i) =>
    (['before', 'after'] as const).map((moment) => ({ killAt: i + 1, moment, rank: random.next() })),
  ).flat();
  const chosen = all.sort((a, b) => a.rank - b.rank).slice(0, options.kills);
  const policies = chosen.map(({ killAt, moment }) => `killed ${moment} ${killAt}`);
  await record(platform, policies);
  let died = 0;
  for (const [i, { killAt, moment }] of chosen.entries()) {
    const policyId = policies[i] ?? '';
    await platform.database.pool.query('delete from desk_database'); // each also dies while it compares the service with the log
    const mortal = await openMortal(platform.databaseUrl, platform.log, killAt, moment);
    // The relay's faults are its own affair: a lease service whose relay died answers, and its next statement fails.
    await train(platform, policyId, mortal).catch((error: unknown) => {
      if (!mortal.dead()) throw error;
    });
    if (mortal.dead()) died++;
    await mortal.close();
    await train(platform, policyId, platform);
  }
  await settle(platform);
  return { points, policies, died };
}

/** What the journal says of a policy, in a form that is the same however often its trainer died. */
export async function serviceRecord({ database }: Platform, policyId: string) {
  const rows = await database.db
    .selectFrom('events')
    .select(['type', 'body'])
    .where('stream', '=', derivedId('lineage', policyId))
    .where('producer', '=', 'lease-desk')
    .orderBy('position')
    .execute();
  const events = rows.map(({ type, body }) => ({ type, data: JSON.parse(body).data }));
  const of = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data);
  const ends = [...of('LeaseExpired'), ...of('BatchReturned'), ...of('BatchAcked'), ...of('BatchAbandoned')];
  const facts = ['BatchAcked', 'CheckpointSaved', 'PolicyUpdated'];
  return {
    batches: of('BatchAcked').map(({ batchId }) => batchId),
    abandoned: of('BatchAbandoned').map(({ batchId }) => batchId),
    versions: of('PolicyUpdated').map(({ version, parentVersion }) => [version, parentVersion]),
    weights: of('PolicyUpdated').map(({ weights }) => weights),
    checkpoints: of('CheckpointSaved').map(({ covers }) => covers),
    unended: of('BatchLeased').filter(({ leaseId }) => !ends.some((end) => end.leaseId === leaseId)),
    endedTwice: ends.length - new Set(ends.map(({ leaseId }) => leaseId)).size,
    facts: events.filter(({ type }) => facts.includes(type)).map(({ type }) => type),
  };
}

/** The same of a trainer that nobody killed, computed from the rules. */
export function wholeRecord(policyId: string): Awaited<ReturnType<typeof serviceRecord>> {
  const planned = Array.from({ length: BATCHES }, (_, ordinal) => derivedId('batch', derivedId('lineage', policyId), ordinal));
  const [batches, abandoned] = [planned.toSpliced(UNREADABLE, 1), planned.slice(UNREADABLE, UNREADABLE + 1)];
  const weights = [sha(policyId)];
  for (const batchId of batches) weights.push(sha(`${weights.at(-1)} ${batchId}`));
  const facts = ['BatchAcked', 'CheckpointSaved', 'PolicyUpdated'];
  return {
    batches,
    abandoned,
    weights,
    unended: [],
    endedTwice: 0,
    versions: weights.map((_, version) => [version, version === 0 ? null : version - 1]),
    checkpoints: [null, 0, 2],
    facts: ['CheckpointSaved', 'PolicyUpdated', ...facts, ...facts],
  };
}
