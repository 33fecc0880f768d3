import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

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
