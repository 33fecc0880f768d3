import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Database, Db } from '../../postgres/database.ts';
import { tablesFileOf } from '../install.ts';
import { readLiveVersions } from '../live-versions.ts';
import type { Projection } from '../projection.ts';
import { schemaNameOf } from '../projection.ts';

/** An index that the tables of a live projection are to have. */
export interface WantedIndex {
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  /** What follows the table: `(a, b) include (c)`, `using gin (…)`. */
  readonly columns: string;
}

export interface IndexState extends WantedIndex {
  /** `broken`: a build of it was interrupted; it costs writes and is read by nobody. */
  readonly state: 'there' | 'missing' | 'broken';
}

/** Indexes that another one has replaced: dropped when that is there. */
const REPLACED: Readonly<Record<string, string>> = { steps_sums: 'steps_tree' };

/** Reads which of the indexes that `tables.sql` declares the live tables of these projections have. */
export async function readIndexes(db: Db, projections: readonly Projection[]): Promise<readonly IndexState[]> {
  const live = await readLiveVersions(db);
  const wanted: WantedIndex[] = [];
  for (const projection of projections) {
    const schema = schemaNameOf({ name: projection.name, version: live.get(projection.name) ?? projection.version });
    const tables = await readFile(tablesFileOf(projection.name), 'utf8');
    for (const [, name = '', table = '', columns = ''] of tables.matchAll(/^create index (\w+) on (\w+) ([^;]+);/gm))
      wanted.push({ schema, table, name, columns: columns.replace(/\s+/g, ' ') });
  }
  const { rows } = await sql<{ schema: string; name: string; valid: boolean }>`
    select n.nspname as schema, c.relname as name, i.indisvalid as valid
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${[...new Set(wanted.map(({ schema }) => schema))]}::text[])`.execute(db);
  const there = new Map(rows.map(({ schema, name, valid }) => [`${schema}.${name}`, valid]));
  return wanted.map((index) => {
    const valid = there.get(`${index.schema}.${index.name}`);
    return { ...index, state: valid === undefined ? 'missing' : valid ? 'there' : 'broken' };
  });
}

/**
 * Builds an index while others write (`create index concurrently`): it reads the table twice and waits for the transactions that
 * are open. What an interrupted build left is dropped first, what the index replaces afterwards.
 */
export async function buildIndex(
  { pool }: Pick<Database, 'pool'>,
  { schema, table, name, columns, state }: IndexState,
): Promise<void> {
  if (state === 'there') return;
  // one statement each, outside of a transaction: that is what `concurrently` asks for
  if (state === 'broken') await pool.query(`drop index concurrently if exists ${schema}.${name}`);
  await pool.query(`create index concurrently if not exists ${name} on ${schema}.${table} ${columns}`);
  const replaced = REPLACED[name];
  if (replaced !== undefined) await pool.query(`drop index concurrently if exists ${schema}.${replaced}`);
}
