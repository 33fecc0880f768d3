import { sql } from 'kysely';
import { isKeyTaken } from '../../postgres/bulk.ts';
import type { Database, Trx } from '../../postgres/database.ts';
import { SILENCE } from '../../postgres/hold-transaction.ts';
import type { Load } from '../projection.ts';
import type { Build } from './build.ts';

const SORT_MEMORY = '256MB'; // of one index: a million keys of a step are sorted in a tenth of it

/** Two rows have a key that only one may have: the load took for new what was not. */
export class KeysRepeat extends Error {
  override readonly name = 'KeysRepeat';
}

/**
 * Drops the plain indexes of a schema's empty tables, and the constraints that the load defers. Returns the statements that make
 * them again, those that count by them, and those that then analyze the tables, for the plans of the first readers, before
 * autovacuum comes by.
 */
export async function deferIndexes(trx: Trx, schema: string, { deferred, afterwards }: Load): Promise<readonly string[]> {
  const { rows } = await sql<{ drop: string; make: string }>`
    select format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname) as drop,
           format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) as make
    from pg_constraint c where c.connamespace = ${schema}::regnamespace and c.conname = any(${deferred})
    union all
    select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
    from pg_index i join pg_class t on t.oid = i.indrelid
    where t.relnamespace = ${schema}::regnamespace and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
    order by 2`.execute(trx);
  for (const { drop } of rows) await sql.raw(drop).execute(trx);
  const tables = await sql<{ analyze: string }>`
    select format('analyze %I.%I', schemaname, tablename) as analyze from pg_tables where schemaname = ${schema} order by 1`.execute(
    trx,
  );
  const counting = (afterwards?.(trx) ?? []).map((statement) => `set local search_path = ${schema}, public; ${statement}`);
  return [...rows.map(({ make }) => make), ...counting, ...tables.rows.map(({ analyze }) => analyze)];
}

/**
 * Makes the indexes that waited, each in a transaction of its own, so that one who is killed here, or asked to end after the one
 * in progress, goes on with the next. @throws KeysRepeat when a key is there twice; the signal's reason.
 */
export async function makeDeferred({ db }: Database, { projection, version, schema }: Build, signal: AbortSignal): Promise<void> {
  const build = () => db.selectFrom('projectionBuilds').where('projection', '=', projection.name).where('version', '=', version);
  for (;;) {
    signal.throwIfAborted();
    const found = await build().select('deferred').executeTakeFirst();
    const [statement, ...left] = (found?.deferred ?? []) as readonly string[]; // as `deferIndexes` gave them
    if (statement === undefined) return;
    try {
      await db.transaction().execute(async (trx) => {
        await sql`select set_config('maintenance_work_mem', ${SORT_MEMORY}, true), ${SILENCE}`.execute(trx);
        await sql.raw(statement).execute(trx);
        await trx
          .updateTable('projectionBuilds')
          .set({ deferred: left.length > 0 ? JSON.stringify(left) : null })
          .where('projection', '=', projection.name)
          .where('version', '=', version)
          .execute();
      });
    } catch (error) {
      if (!isKeyTaken(error)) throw error;
      throw new KeysRepeat(`a key of ${schema} is there twice`, { cause: error });
    }
  }
}
