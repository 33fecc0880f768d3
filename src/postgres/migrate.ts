import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
const LOCK = 0x65_73_70_61; // 'espa': one migrator at a time over the whole database

/** Another version of this program made the database: an earlier state of the development, or a later release. */
export class SchemaUnknown extends Error {
  override readonly name = 'SchemaUnknown';
  constructor(what: string) {
    super(
      `${what}: another version of Espalier made this database, and this one would write to tables that it does not know; start that version, or export each run with it (\`espalier export --format jsonl --scope trees\`) and import the files into a new database`,
    );
  }
}

/**
 * Applies the plain SQL files of `migrations/` that the database has not seen, in name order, in one transaction, under its
 * advisory lock so that many workers may start at once, through a pooler too. Returns the names applied.
 * @throws SchemaUnknown, before anything is written, when the database has seen a file that is not here, or with another text.
 */
export async function migrate(pool: pg.Pool, folder = FOLDER): Promise<readonly string[]> {
  const files = await readFiles(folder);
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const seen = await readApplied(client);
    for (const [name, sql] of seen) refuseUnknown(name, sql, files.get(name));
    if (seen.size === 0) await client.query(MIGRATIONS);
    const missing = [...files].filter(([name]) => !seen.has(name));
    for (const [name, sql] of missing) await apply(client, name, sql);
    await client.query('commit');
    return missing.map(([name]) => name);
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // the fault that led here is the one to report
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Refuses a database that has seen a migration which is not here, or with another text; writes nothing. @throws SchemaUnknown.
 */
export async function refuseUnknownMigrations(pool: pg.Pool, folder = FOLDER): Promise<void> {
  const files = await readFiles(folder);
  for (const [name, sql] of await readApplied(pool)) refuseUnknown(name, sql, files.get(name));
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(`${folder}/${name}`, 'utf8')] as const)));
}

const MIGRATIONS =
  'create table if not exists migrations (name text primary key, sql text not null, applied_at timestamptz not null default now())';

/** Returns the texts of the files that were applied, newest first; null where the table has another shape and keeps none. */
async function readApplied(client: pg.Pool | pg.PoolClient): Promise<ReadonlyMap<string, string | null>> {
  const table = await client.query("select from pg_class where oid = to_regclass('public.migrations')");
  if (table.rowCount === 0) return new Map();
  const { rows } = await client.query<{ name: string; sql: string | null }>(
    "select m ->> 'name' as name, m ->> 'sql' as sql from (select to_jsonb(m) as m from public.migrations m) r order by 1 desc",
  );
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

function refuseUnknown(name: string, applied: string | null, known: string | undefined): void {
  if (known === undefined) throw new SchemaUnknown(`the database has the migration ${name}, which is not known here`);
  if (known !== applied) throw new SchemaUnknown(`the database has the migration ${name} with another text than it has here`);
}

async function apply(client: pg.PoolClient, name: string, sql: string): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  await client.query('insert into migrations (name, sql) values ($1, $2)', [name, sql]);
}
