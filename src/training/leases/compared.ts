import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { SILENCE } from '../../postgres/hold-transaction.ts';

/** The database is not the one in which the lease service was last compared with the log. */
export class NotCompared extends Error {
  override readonly name = 'NotCompared';
}

/**
 * Names the database of a connection. The start of the server reveals a folder that was put back and a standby that took over;
 * the other two a database that was made from a copy or a dump.
 */
export const NAME = sql`
  concat_ws(' ', extract(epoch from pg_postmaster_start_time()), (select oid from pg_database where datname = current_database()),
    pg_relation_filenode('lease_desk'))`;

/** What every transaction of the lease service asks first, with whatever else it asks: see `checkCompared`. */
export const COMPARED = sql`(select name = ${NAME} from desk_database) as compared, ${SILENCE}`;

/** @throws NotCompared. */
export function checkCompared(row: { readonly compared: boolean | null } | undefined): void {
  if (row?.compared !== true) throw new NotCompared();
}

/** Returns whether the database is the one of the last comparison. */
export async function isCompared(trx: Trx): Promise<boolean> {
  const { rows } = await sql<{ compared: boolean | null }>`select ${COMPARED}`.execute(trx);
  return rows[0]?.compared === true;
}

/** Asks by itself what the statements that lock a row ask with it. @throws NotCompared. */
export async function mustBeCompared(trx: Trx): Promise<void> {
  checkCompared({ compared: await isCompared(trx) });
}
