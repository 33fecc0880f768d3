import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Resolves when the database answers a statement that reads nothing. @throws what the driver throws when it does not. */
export async function ping(db: Db): Promise<void> {
  await sql`select 1`.execute(db);
}
