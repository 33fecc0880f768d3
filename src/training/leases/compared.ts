import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** The database is not the one in which the lease service was last compared with the log. */
export class LeaseStateStale extends Error {
  override readonly name = 'NotCompared';
}

/**
 * Names the database of a connection. The start of the server reveals a folder that was put back and a standby that took over;
 * the other two a database that was made from a copy or a dump.
 */
export const NAME = sql`
  concat_ws(' ', extract(epoch from pg_postmaster_start_time()), (select oid from pg_database where datname = current_database()),
    pg_relation_filenode('lease_desk'))`;

/** What every statement of the lease service asks, with whatever else it asks; null before the first comparison. */
export const COMPARED = sql<boolean | null>`(select name = ${NAME} from desk_database)`;

/** @throws NotCompared. */
export function checkCompared(row: { readonly compared: boolean | null } | undefined): void {
  if (row?.compared !== true) throw new LeaseStateStale();
}

/** Returns whether the database is the one of the last comparison. */
export async function isCompared(db: Db): Promise<boolean> {
  const { rows } = await sql<{ compared: boolean | null }>`select ${COMPARED} as compared`.execute(db);
  return rows[0]?.compared === true;
}
