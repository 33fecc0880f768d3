import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** Reads the topic that each stream belongs to: that of its first event. Streams that the journal does not hold are left out. */
export async function readStreamTopics(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (streams.length === 0) return new Map();
  const { rows } = await sql<{ stream: string; topic: string }>`
    select s.stream, e.topic from unnest(${[...new Set(streams)]}::uuid[]) as s(stream)
    cross join lateral (select topic from events where stream = s.stream order by position limit 1) e`.execute(db);
  return new Map(rows.map(({ stream, topic }) => [stream, topic]));
}

/** Reads the streams that lie in more than one topic: one id was used for two things before that was refused. */
export async function readDividedStreams(
  db: Db,
): Promise<readonly { readonly stream: string; readonly topics: readonly string[] }[]> {
  const { rows } = await sql<{ stream: string; topics: string[] }>`
    select stream, array_agg(distinct topic order by topic) as topics from events
    group by stream having min(topic) <> max(topic) order by stream`.execute(db);
  return rows;
}

/** Reads the event ids that several streams hold: each is another fact, and one of them took an id that was not its own. */
export async function readSharedIds(
  db: Db,
): Promise<readonly { readonly eventId: string; readonly streams: readonly string[] }[]> {
  const { rows } = await sql<{ eventId: string; streams: string[] }>`
    select event_id, array_agg(stream::text || ' of ' || topic order by topic, stream) as streams from events
    where type <> 'SegmentRendered' -- named by its content: who draws the same records the same
    group by event_id having count(*) > 1 order by event_id`.execute(db);
  return rows;
}

export interface StreamEnd {
  /** The number behind the producer's last event in the stream; null when it has none there. */
  readonly next: number | null;
  /** The topic of the stream's first event; null for a stream that the journal does not hold. */
  readonly home: string | null;
}

/** Reads how far a producer is in a stream, and the topic that the stream belongs to, in one statement. */
export async function readStreamEnd(db: Db, stream: string, producer: string): Promise<StreamEnd> {
  const { rows } = await sql<StreamEnd>`
    select (select sequence + 1 from stream_producers where stream = ${stream}::uuid and producer = ${producer}) as next,
           (select topic from events where stream = ${stream}::uuid order by position limit 1) as home`.execute(db);
  return rows[0] ?? { next: null, home: null };
}

/** Whether a stream has an event of a type that states the fact of an entity. */
export async function hasFact(db: Db, stream: string, type: EventType, entityId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from events where stream = ${stream}::uuid and entity_id = ${entityId}::uuid and type = ${type} limit 1`.execute(db);
  return rows.length > 0;
}
