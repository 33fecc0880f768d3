import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What waits to be appended to the log. */
export interface WaitingOutbox {
  readonly records: number;
  /** Of the oldest of them; 0 where none waits. */
  readonly seconds: number;
}

/** Reads how much waits in the outbox, and for how long. */
export async function readWaitingOutbox(db: Db): Promise<WaitingOutbox> {
  const { rows } = await sql<WaitingOutbox>`
    select count(*)::int as records, coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as seconds
    from outbox where relayed_at is null`.execute(db);
  return rows[0] ?? { records: 0, seconds: 0 };
}
