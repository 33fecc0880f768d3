import { sql } from 'kysely';
import { streamTaken } from '../events/stream-of.ts';
import type { Db } from '../postgres/database.ts';

/**
 * Gives the number that a producer's next event in a stream takes. The read models must have caught up with what it appended
 * before. @throws RangeError when the record holds the stream in another topic.
 */
export async function nextSequence(db: Db, producer: string, stream: string, topic: string): Promise<number> {
  const { rows } = await sql<{ next: number | null; home: string | null }>`
    select (select sequence + 1 from stream_producers where stream = ${stream}::uuid and producer = ${producer}) as next,
           (select topic from events where stream = ${stream}::uuid order by position limit 1) as home`.execute(db);
  const { next = null, home = null } = rows[0] ?? {};
  if (home === null || home === topic) return next ?? 0;
  const { message, remedy } = streamTaken(stream, home, topic);
  throw new RangeError(`${message}; ${remedy}`);
}
