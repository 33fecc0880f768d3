import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

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
