import { sql } from 'kysely';
import { contentHash, decode } from '../../events/codec.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Poison, Projection } from '../projection.ts';

/**
 * Keeps every event once, in its log order and its stream's order, and notes what should not be: an event appended twice, a hole in a
 * producer's sequence, a sequence that went back. The first append of an id is the fact; another fact under the same id is quarantined.
 */
export const journal: Projection = { name: 'journal', version: 1, handles: 'all', project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await bodiesOf(batch, trx);
  const streams = [...new Set(batch.map((d) => d.event.stream))];
  const positions = await positionsOf(streams, trx);
  const sequences = await sequencesOf(streams, trx);
  const poison: Poison[] = [];
  const events: EventRow[] = [];
  const anomalies: AnomalyRow[] = [];

  for (const delivery of batch) {
    const { event } = delivery;
    const before = known.get(event.id);
    if (before !== undefined) {
      if (sameContent(before, delivery.body)) {
        // A segment is named by its content: two processes that draw the same one at once both tell it, as they should.
        if (event.type !== 'SegmentRendered')
          anomalies.push(anomaly(delivery, 'duplicate', 'appended again with the same content'));
      } else
        poison.push({
          delivery,
          code: 'conflict',
          field: 'id',
          reason: 'another event was appended under this id before; give a new fact a new id',
        });
      continue;
    }
    known.set(event.id, delivery.body);
    const producerKey = `${event.stream} ${event.producer.name}`;
    const last = sequences.get(producerKey);
    const expected = last === undefined ? 0 : last + 1;
    if (event.sequence > expected)
      anomalies.push(
        anomaly(delivery, 'gap', `sequence ${event.sequence} of ${event.producer.name} came where ${expected} was due`),
      );
    if (event.sequence < expected)
      anomalies.push(
        anomaly(delivery, 'reordered', `sequence ${event.sequence} of ${event.producer.name} came after ${expected - 1}`),
      );
    sequences.set(producerKey, Math.max(event.sequence, last ?? 0));
    const position = (positions.get(event.stream) ?? 0) + 1;
    positions.set(event.stream, position);
    events.push(eventRow(delivery, position));
  }

  if (events.length > 0) {
    await insertRows(trx, 'events', events, EVENT_COLUMNS);
    await writePositions(events, positions, trx);
    await writeSequences(events, sequences, trx);
  }
  await insertRows(trx, 'anomalies', anomalies, ANOMALY_COLUMNS);
  return poison;
}

interface EventRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event_id: string;
  readonly type: string;
  readonly stream: string;
  readonly position: number;
  readonly sequence: number;
  readonly producer: string;
  readonly correlation_id: string;
  readonly occurred_at: string;
  readonly body: string;
}
const EVENT_COLUMNS: Record<keyof EventRow, string> = {
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  type: 'text',
  stream: 'uuid',
  position: 'bigint',
  sequence: 'bigint',
  producer: 'text',
  correlation_id: 'uuid',
  occurred_at: 'timestamptz',
  body: 'text',
};

interface AnomalyRow {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event_id: string;
  readonly stream: string;
  readonly kind: 'duplicate' | 'gap' | 'reordered';
  readonly detail: string;
}
const ANOMALY_COLUMNS: Record<keyof AnomalyRow, string> = {
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  stream: 'uuid',
  kind: 'text',
  detail: 'text',
};

function eventRow(delivery: Delivery, position: number): EventRow {
  const { topic, partition, offset, event, body } = delivery;
  return {
    topic,
    partition,
    offset,
    event_id: event.id,
    type: event.type,
    stream: event.stream,
    position,
    sequence: event.sequence,
    producer: event.producer.name,
    correlation_id: event.correlationId,
    occurred_at: event.occurredAt,
    body,
  };
}

function anomaly(delivery: Delivery, kind: AnomalyRow['kind'], detail: string): AnomalyRow {
  const { topic, partition, offset, event } = delivery;
  return { topic, partition, offset, event_id: event.id, stream: event.stream, kind, detail };
}

/** Compares what two records say; who wrote them and when may differ, since a resumed producer appends a derived id again. */
function sameContent(a: string, b: string): boolean {
  if (a === b) return true;
  const [x, y] = [decode(Buffer.from(a)), decode(Buffer.from(b))];
  return x.kind === 'event' && y.kind === 'event' && contentHash(x.event) === contentHash(y.event);
}

async function bodiesOf(batch: readonly Delivery[], trx: Trx): Promise<Map<string, string>> {
  const ids = batch.map((d) => d.event.id);
  const { rows } = await sql<{
    event_id: string;
    body: string;
  }>`select event_id, body from events where event_id = any(${ids}::uuid[])`.execute(trx);
  return new Map(rows.map((row) => [row.event_id, row.body]));
}

async function positionsOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const { rows } = await sql<{ stream: string; position: number }>`
    select stream, position from streams where stream = any(${streams}::uuid[])`.execute(trx);
  return new Map(rows.map((row) => [row.stream, row.position]));
}

async function sequencesOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const { rows } = await sql<{ stream: string; producer: string; sequence: number }>`
    select stream, producer, sequence from stream_producers where stream = any(${streams}::uuid[])`.execute(trx);
  return new Map(rows.map((row) => [`${row.stream} ${row.producer}`, row.sequence]));
}

async function writePositions(events: readonly EventRow[], positions: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const rows = [...new Set(events.map((e) => e.stream))].map((stream) => ({ stream, position: positions.get(stream) ?? 0 }));
  await sql`
    insert into streams (stream, position) select stream, position from ${recordset(rows, { stream: 'uuid', position: 'bigint' })}
    on conflict (stream) do update set position = excluded.position`.execute(trx);
}

async function writeSequences(events: readonly EventRow[], sequences: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const last = new Map<string, { stream: string; producer: string; sequence: number }>();
  for (const { stream, producer } of events) {
    const key = `${stream} ${producer}`;
    last.set(key, { stream, producer, sequence: sequences.get(key) ?? 0 });
  }
  await sql`
    insert into stream_producers (stream, producer, sequence)
    select stream, producer, sequence from ${recordset([...last.values()], { stream: 'uuid', producer: 'text', sequence: 'bigint' })}
    on conflict (stream, producer) do update set sequence = excluded.sequence`.execute(trx);
}
