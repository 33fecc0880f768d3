import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';
import { schemaNameOf } from '../projections/projection.ts';
import { projections } from '../projections/registry.ts';
import { UNCOMPARED_TABLES, VIEW_NAME } from '../projections/view-names.ts';
import { forgetGivenEvents } from './given-events.ts';

const SCHEMAS = projections.map(schemaNameOf);

const COUNTS_OF_PARTITIONS = ['run_counts', 'run_returns', 'run_events'];
const TIMES_OF_COUNTS = ['last_at', 'minute', 'in_minute', 'minute_before'];

/**
 * Returns the rows of every table of every projection that two folds hold alike, as readers see them, as sorted text, with the
 * columns named in `without` left out. Without the places of records what is made of them is left out too: without offsets the
 * chain of the log, without partitions the counts by partition, without the times of the log the last times of counts.
 */
export async function readModels(db: Db, without: readonly string[] = []): Promise<Record<string, string[]>> {
  const tables = await sql<{ schemaname: string; tablename: string; shown: string }>`
    select schemaname, tablename, ${sql.raw(VIEW_NAME)} as shown from pg_tables t where schemaname = any(${SCHEMAS}) order by 1, 2`.execute(
    db,
  );
  const models: Record<string, string[]> = {};
  const columns = without.includes('received_at') ? [...without, ...TIMES_OF_COUNTS] : without;
  for (const { schemaname, tablename, shown } of tables.rows) {
    if (UNCOMPARED_TABLES.includes(tablename)) continue;
    if (tablename === 'chain_blocks' && without.includes('offset')) continue;
    if (COUNTS_OF_PARTITIONS.includes(tablename) && without.includes('partition')) continue;
    const { rows } = await sql<{ row: string }>`
      select (to_jsonb(t) - ${columns}::text[])::text as row from ${sql.table(`${schemaname}.${shown}`)} t order by 1`.execute(
      db,
    );
    models[tablename] = rows.map(({ row }) => row);
  }
  return models;
}

/** Empties every read model, the cursors and the quarantine: the state of a database before its first event. */
export async function emptyReadModels(db: Db): Promise<void> {
  forgetGivenEvents(db);
  const tables = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = any(${SCHEMAS})`.execute(db);
  await sql.raw(`truncate ${[...tables.rows.map((t) => t.name), 'public.cursors', 'public.quarantine'].join(', ')}`).execute(db);
}
