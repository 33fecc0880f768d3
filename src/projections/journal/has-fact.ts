import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** Whether a stream has an event of a type that states the fact of an entity. */
export async function hasFact(db: Db, stream: string, type: EventType, entityId: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from events where stream = ${stream}::uuid and entity_id = ${entityId}::uuid and type = ${type} limit 1`.execute(db);
  return rows.length > 0;
}
