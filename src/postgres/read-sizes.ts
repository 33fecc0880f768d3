import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Bytes on the disk of Postgres. */
export interface Sizes {
  readonly database: number;
  /** Of the tables of the embedded log: next to nothing where the log is in Kafka. */
  readonly log: number;
}

/** Reads how large the database is, and the log in it. */
export async function readSizes(db: Db): Promise<Sizes> {
  const { rows } = await sql<Sizes>`
    select pg_database_size(current_database()) as database, pg_total_relation_size('log_records') as log`.execute(db);
  return rows[0] ?? { database: 0, log: 0 };
}
