import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Reads the topic that each stream belongs to: that of its first event. Streams that the journal does not hold are left out. */
export async function readStreamTopics(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (streams.length === 0) return new Map();
  const { rows } = await sql<{ stream: string; topic: string }>`
    select s.stream, e.topic from unnest(${[...new Set(streams)]}::uuid[]) as s(stream)
    cross join lateral (select topic from events where stream = s.stream order by position limit 1) e`.execute(db);
  return new Map(rows.map(({ stream, topic }) => [stream, topic]));
}
