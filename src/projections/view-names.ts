import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/**
 * What readers see of a table, as an SQL expression over the rows of `pg_tables t`: the name of the view `TABLE_shown` next to
 * it, where its schema has one, else its own.
 */
export const VIEW_NAME = `coalesce((
  select v.viewname from pg_views v where v.schemaname = t.schemaname and v.viewname = t.tablename || '_shown'), t.tablename)::text`;

/** Returns the name of what readers see of a table. */
export async function viewNameOf(db: Db, schema: string, table: string): Promise<string> {
  const { rows } = await sql<{ shown: string }>`
    select ${sql.raw(VIEW_NAME)} as shown from pg_tables t where t.schemaname = ${schema} and t.tablename = ${table}`.execute(db);
  return rows[0]?.shown ?? table;
}

/**
 * Tables of counts that may lack some of what they could hold, which depends on which of two folds came first; what they hold is
 * compared with a full count (`runs/find-miscounted.ts`), and not with another fold.
 */
export const UNCOMPARED_TABLES: readonly string[] = ['settled_samples'];
