import { sql } from 'kysely';
import type { Db } from './database.ts';

/**
 * The tables that no fold of the log gives back. All others are folded from it, or made again from what was folded: the lease
 * service's (`training/leases/ensure-synced-with-log.ts`), the epochs of runs (`run-holds.ts`), the cursors of groups.
 */
export const TABLES_BESIDE_LOG = ['api_keys', 'stream_keys', 'payload_policies', 'verifications'] as const;
export type TableBesideLog = (typeof TABLES_BESIDE_LOG)[number];

const ROWS = 5_000;

/** Reads all rows of these tables as JSON, in one snapshot. @param write gets some rows of a table at a time. */
export async function dumpTablesBesideLog(
  db: Db,
  write: (table: TableBesideLog, rows: readonly string[]) => Promise<void>,
): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      for (const table of TABLES_BESIDE_LOG) {
        await sql`declare dumped no scroll cursor for select to_jsonb(t)::text as row from ${sql.table(table)} t`.execute(trx);
        for (;;) {
          const { rows } = await sql<{ row: string }>`fetch ${sql.lit(ROWS)} from dumped`.execute(trx);
          if (rows.length === 0) break;
          await write(
            table,
            rows.map(({ row }) => row),
          );
        }
        await sql`close dumped`.execute(trx);
      }
    });
}

/** Inserts rows that were dumped; those that are there stay as they are. */
export async function restoreRows(db: Db, table: TableBesideLog, rows: readonly string[]): Promise<void> {
  await sql`
    insert into ${sql.table(table)} select * from jsonb_populate_recordset(null::${sql.table(table)}, ${`[${rows.join(',')}]`}::jsonb)
    on conflict do nothing`.execute(db);
}
