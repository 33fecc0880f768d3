import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { ofRun } from '../journal/of-run.ts';
import type { Finder, MadeBy } from './trace-links.ts';

/** An event and where it lies in the log. */
export interface EventPlace {
  readonly eventId: string;
  readonly type: string;
  /** `topic.partition@offset`. */
  readonly place: string;
  readonly occurredAt: Date;
}

const SHOWN = 10;
const PLACE = sql`topic || '.' || partition || '@' || "offset"`;

/** Reads the events that made something, in the order of their streams. */
export async function readMakers(
  db: Db,
  { streams, types, field, named }: MadeBy,
): Promise<{ readonly total: number; readonly first: readonly EventPlace[] }> {
  // The text is looked at before it is parsed: a stream may be long, and few of its events name the id.
  const query: RawBuilder<EventPlace & { total: number }> = sql`
    select event_id, type, ${PLACE} as place, occurred_at, (count(*) over ())::integer as total
    from events
    where stream in (${streams}) and type = any(${[...types]}::text[]) and position(${named} in body) > 0
      and body::jsonb -> 'data' ->> ${field} = ${named}
    order by topic, partition, "offset" limit ${SHOWN}`;
  const { rows } = await query.execute(db);
  return { total: rows[0]?.total ?? 0, first: rows.map(({ total: _, ...place }) => place) };
}

/**
 * Finds an event of the journal: where it lies, what it names, what caused it and what it caused. An id identifies an event in
 * its stream: of several streams that hold one, the first in the log is shown and the others are named.
 */
export const findEvent: Finder = async (db, id) => {
  const event = await sql<{ stream: string; type: string; place: string; at: Date; correlation: string }>`
    select stream, type, ${PLACE} as place, occurred_at as at, correlation_id as correlation from events
    where event_id = ${id} order by topic, partition, "offset" limit 1`.execute(db);
  const found = event.rows[0];
  if (!found) return null;
  const named = sql`
    select f.value #>> '{}' as id, f.key as text from events e, jsonb_each(e.body::jsonb -> 'data') f
    where e.event_id = ${id} and e.stream = ${found.stream} and f.value #>> '{}' ~ '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})$' order by f.key`;
  const cause = sql`
    select c.event_id as id, c.type || ' at ' || c.topic || '.' || c.partition || '@' || c."offset" as text
    from events e join events c on c.event_id::text = e.body::jsonb ->> 'causationId'
    where e.event_id = ${id} and e.stream = ${found.stream}
    order by c.stream = e.stream desc, c.correlation_id = e.correlation_id desc, c.topic, c.partition, c."offset" limit 1`;
  const others = sql`
    select stream as id, type || ' at ' || ${PLACE} as text from events
    where event_id = ${id} and stream <> ${found.stream} order by topic, partition, "offset"`;
  const caused = sql`
    select event_id as id, type || ' at ' || ${PLACE} as text from events e
    where ${ofRun('e', found.correlation)} and position(${id} in body) > 0 and body::jsonb ->> 'causationId' = ${id}
    order by topic, partition, "offset"`;
  return {
    kind: 'event',
    id,
    title: `${found.type} at ${found.place}, ${found.at.toISOString()}`,
    madeBy: null,
    from: [{ relation: 'caused by', query: cause }],
    usedBy: [
      { relation: 'names', query: named },
      { relation: 'caused', query: caused },
      { relation: 'has the id of another event in stream', query: others },
    ],
    seed: null,
  };
};
