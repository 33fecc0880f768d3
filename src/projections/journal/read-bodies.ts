import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Reads the records of events, byte for byte, by event id; ids that the journal does not hold are left out. */
export async function readBodiesById(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ id: string; body: string }>`
    select event_id as id, body from events where event_id = any(${[...ids]}::uuid[])`.execute(db);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Reads the records of all events of a type, byte for byte, by stream and position. */
export async function readBodiesOfType(db: Db, type: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('type', '=', type)
    .orderBy('stream')
    .orderBy('position')
    .execute();
  return rows.map(({ body }) => body);
}
