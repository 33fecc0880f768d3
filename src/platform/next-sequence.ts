import type { Db } from '../postgres/database.ts';

/** Gives the number that a producer's next event in a stream takes. The read models must have caught up with what it appended before. */
export async function nextSequence(db: Db, producer: string, stream: string): Promise<number> {
  const row = await db
    .selectFrom('stream_producers')
    .select('sequence')
    .where('stream', '=', stream)
    .where('producer', '=', producer)
    .executeTakeFirst();
  return row ? row.sequence + 1 : 0;
}
