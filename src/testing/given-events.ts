import { catalogue } from '../events/catalogue.ts';
import { encode } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import { withRequeue } from '../events/with-requeue.ts';
import type { StoredRecord } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { applySlice } from '../projections/apply-slices.ts';
import { topicsOf } from '../projections/concerns.ts';
import { decodeRecords } from '../projections/decode-records.ts';
import { markRepeated } from '../projections/journal/mark-repeated.ts';
import type { Projection } from '../projections/projection.ts';
import { projections as registered } from '../projections/registry.ts';

/** Where a test's log ends: the next offset of each topic (partition 0), or offsets chosen by the test. */
export interface TestLog {
  readonly topics: Map<string, StoredRecord[]>;
}

export function testLog(): TestLog {
  return { topics: new Map() };
}

/**
 * Appends events to a test's log in order, one partition per topic; a raw record may stand between them.
 * @param clock dates the record of an offset, ms since 1970; left out, none is dated.
 */
export function appendTo(
  log: TestLog,
  events: readonly (Envelope | { topic: string; value: Uint8Array })[],
  clock: (offset: number) => number | null = () => null,
): void {
  for (const event of events) {
    const topic = 'topic' in event ? event.topic : catalogue[event.type].topic;
    const records = log.topics.get(topic) ?? [];
    records.push({
      offset: records.length,
      receivedAt: clock(records.length),
      key: 'stream' in event ? event.stream : 'raw',
      value: 'topic' in event ? event.value : encode(event),
    });
    log.topics.set(topic, records);
  }
}

/** Dates records as a log does whose first ones are of a version that did not, by a clock that is set back at times. */
export function settingBack(offset: number): number | null {
  return offset < 5 ? null : Date.UTC(2026, 6, 1) + ((offset * 7_919) % 23) * 1_000 + offset * 100;
}

/**
 * Requeues a record from quarantine as `espalier quarantine requeue` does: appends it again behind all there is. `as` are its
 * bytes where a newer program could read them. Returns the offset of the requeue.
 */
export function appendRequeue(log: TestLog, topic: string, offset: number, as?: Uint8Array): number {
  const records = log.topics.get(topic) ?? [];
  const bytes = as ?? records[offset]?.value;
  if (!bytes) throw new RangeError(`${topic} holds no record ${offset}`);
  const at = new Date(Date.UTC(2026, 5, 1) + records.length).toISOString();
  const value = Buffer.from(withRequeue(Buffer.from(bytes).toString('utf8'), { offset, at, reason: null }), 'utf8');
  records.push({ offset: records.length, receivedAt: null, key: 'requeue', value });
  return records.length - 1;
}

/** Projects records [from, to) of a topic, as the runner does with one batch. A slice below the cursor is dropped, as live. */
export async function projectSlice(
  db: Db,
  log: TestLog,
  topic: string,
  from: number,
  to: number,
  projections: readonly Projection[] = registered,
): Promise<void> {
  const records = (log.topics.get(topic) ?? []).slice(from, to);
  const slice = { topic, partition: 0, from, next: to };
  const slices = await markRepeated(db, [{ ...slice, items: await decodeRecords(db, { ...slice, records }) }]);
  for (const projection of projections)
    if (topicsOf(projection).includes(topic)) for (const read of slices) await applySlice(db, projection, read);
}

const logs = new WeakMap<Db, TestLog>();

/** Forgets what was given: the next events begin at offset 0 again. */
export function forgetGivenEvents(db: Db): void {
  logs.delete(db);
}

/** Appends events behind those given before and projects them into the read models of a test's database. */
export async function givenEvents(db: Db, events: readonly Envelope[]): Promise<void> {
  const log = logs.get(db) ?? testLog();
  logs.set(db, log);
  const before = new Map([...log.topics].map(([topic, records]) => [topic, records.length]));
  appendTo(log, events);
  for (const [topic, records] of log.topics) await projectSlice(db, log, topic, before.get(topic) ?? 0, records.length);
}

/**
 * Requeues all that waits in a test's database, in log order, and projects it: behind the events given before, or behind those of
 * `log`.
 */
export async function requeueWaiting(
  db: Db,
  {
    log = logs.get(db) ?? testLog(),
    projections = registered,
  }: { readonly log?: TestLog; readonly projections?: readonly Projection[] } = {},
): Promise<void> {
  const waiting = await db
    .selectFrom('quarantine')
    .select(['topic', 'offset', 'body'])
    .distinctOn(['topic', 'offset'])
    .where('requeuedAt', 'is', null)
    .where(
      'projection',
      'in',
      projections.map(({ name }) => name),
    )
    .orderBy('topic')
    .orderBy('offset')
    .execute();
  const before = new Map([...log.topics].map(([topic, records]) => [topic, records.length]));
  for (const { topic, offset, body } of waiting) appendRequeue(log, topic, offset, body);
  for (const topic of new Set(waiting.map((row) => row.topic)))
    await projectSlice(db, log, topic, before.get(topic) ?? 0, log.topics.get(topic)?.length ?? 0, projections);
}
