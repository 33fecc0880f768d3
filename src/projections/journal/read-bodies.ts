import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import { openValue, type Unseal } from '../../events/codec.ts';
import { identityOf } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';

/**
 * The record of a row of `events` under the alias `e`. A fold sees the table itself, whose body may lie in the log; others see
 * the view, which has it.
 */
export const BODY = sql<string>`
  case when e.body = '' then (
    select convert_from(r.value, 'UTF8') from log_records r where r.partition_id = e.log_partition and r."offset" = e."offset")
  else e.body end`;

/** Reads the records of events, byte for byte, by `identityOf`; events that the journal does not hold are left out. */
export async function readBodiesOf(
  db: Db,
  events: readonly { readonly stream: string; readonly id: string }[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; stream: string; body: string }>`
    select e.event_id as id, e.stream, ${BODY} as body from events e
    join unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ stream }) => stream)}::uuid[]) as asked (id, stream)
      on e.event_id = asked.id and e.stream = asked.stream`.execute(db);
  return new Map(rows.map((row) => [identityOf(row), row.body]));
}

/** Reads the records of all events of a type, byte for byte, by stream and position. */
export async function readBodiesOfType(db: Db, type: string): Promise<readonly string[]> {
  const rows = await rowsWhere(db, 'events', { type }, ['body'], ['stream', 'position']);
  return rows.map(({ body }) => body);
}

/** Reads the records of the journal at places `topic.partition@offset`, their payloads opened, in one statement. */
export async function readBodiesAt(db: Db, places: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const parsed = places.map((place) => /^(.*)\.(\d+)@(\d+)$/.exec(place) ?? []);
  const [topics, partitions, offsets] = [1, 2, 3].map((part) => parsed.map((each) => each[part] ?? null));
  const { rows } = await sql<{ readonly place: string; readonly body: string }>`
    select topic || '.' || partition || '@' || "offset" as place, body from events
    where (topic, partition, "offset") in (select * from unnest(${topics}::text[], ${partitions}::int[], ${offsets}::bigint[]))`.execute(
    db,
  );
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return new Map(rows.map(({ place, body }) => [place, openBody(body, unseal)]));
}

/** A record of the journal at a place where a fold of the log meets it: where it was appended, or where it was requeued. */
export interface JournalRecordBody {
  readonly stream: string;
  readonly body: string;
  /** A live projection set it aside at this place, or it repeats a fact of an event before it, which alone takes effect. */
  readonly refused: boolean;
}

/**
 * Reads the records of streams, by stream and in the order of the log. A record that was requeued from a quarantine is there a
 * second time, at the place of its requeue.
 */
export async function readPlacedRecords(db: Db, streams: readonly string[]): Promise<readonly JournalRecordBody[]> {
  const { rows } = await sql<JournalRecordBody>`
    select p.stream, p.body, coalesce(q.refused, false) or p.repeats as refused
    from (
      select e.stream, e.topic, e.partition, e."offset", e.body, a.kind is not null as repeats
      from events e left join anomalies a
        on (a.topic, a.partition, a."offset", a.kind) = (e.topic, e.partition, e."offset", 'duplicate')
      where e.stream = any(${[...streams]}::uuid[])
      union all
      select stream, r.topic, r.partition, r."offset", e.body, false
      from requeued_records r join events e using (event_id, stream)
      where r.stream = any(${[...streams]}::uuid[]) and (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset")
    ) p
    left join (
      select distinct topic, partition, "offset", true as refused
      from quarantine where stream = any(${[...streams]}::text[]) and projection in (select name from projections)
    ) q using (topic, partition, "offset")
    order by p.stream, topic, partition, "offset"`.execute(db);
  return rows;
}

/** How many events of each type a stream has. */
export type EventCounts = Readonly<Partial<Record<EventType, number>>>;

/** Counts the events of streams by their types; streams without events are left out. */
export async function countEvents(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, EventCounts>> {
  if (streams.length === 0) return new Map();
  const { rows } = await sql<{ stream: string; counts: EventCounts }>`
    select stream, json_object_agg(type, count) as counts
    from (select stream, type, count(*) from events where stream = any(${[...new Set(streams)]}::uuid[]) group by stream, type) c
    group by stream`.execute(db);
  return new Map(rows.map(({ stream, counts }) => [stream, counts]));
}

/** Opens the sealed payload of a record of the journal. All else is as it was appended: an old shape stays the old shape. */
export function openBody(body: string, unseal: Unseal): string {
  return body.includes('"sealed":{"key":"') ? JSON.stringify(openValue(JSON.parse(body), unseal)) : body;
}
