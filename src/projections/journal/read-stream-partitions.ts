import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

const STREAM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads the partition of a topic in which each stream lies: that of its first event. Streams without one are left out. */
export async function readStreamPartitions(
  db: Db,
  topic: string,
  streams: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const asked = streams.filter((stream) => STREAM.test(stream));
  if (asked.length === 0) return new Map();
  const { rows } = await sql<{ stream: string; partition: number }>`
    select s.stream, e.partition from unnest(${asked}::text[]) as s(stream)
    cross join lateral (
      select partition from events where stream = s.stream::uuid and topic = ${topic} order by position limit 1
    ) e`.execute(db);
  return new Map(rows.map(({ stream, partition }) => [stream, partition]));
}
