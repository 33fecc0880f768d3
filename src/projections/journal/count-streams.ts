import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Counts the streams of every topic. */
export async function countStreams(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ topic: string; streams: number }>`
    select topic, count(distinct stream)::bigint as streams from events group by topic`.execute(db);
  return new Map(rows.map(({ topic, streams }) => [topic, streams]));
}
