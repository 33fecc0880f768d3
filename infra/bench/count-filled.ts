import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/postgres/database.ts';
import { KEPT_COUNTS } from '../../src/projections/runs/find-miscounted.ts';
import { settleRuns } from '../../src/projections/training-pool/settled-samples.ts';

/** Counts what folds would have counted of rows that were filled in by statements. */
export async function countFilled(db: Db): Promise<void> {
  const insert = (table: string, columns: readonly string[], rows: RawBuilder<unknown>) =>
    sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) ${rows}`.execute(db);
  for (const { table, columns, full } of KEPT_COUNTS) await insert(table, columns, sql.raw(full));
  await settleRuns(db);
}
