import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { doubling, retry } from '../runtime/retry.ts';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
const DEADLOCK = '40P01'; // SQLSTATE
const TRIES = 8; // of a file that meets writers of the release before, whose transactions last milliseconds
const LOCK = 0x65_73_70_61; // 'espa': one migrator at a time over the whole database

/** The database was migrated by a newer release than this one. */
export class SchemaNewer extends Error {
  override readonly name = 'SchemaNewer';
  constructor(what: string) {
    super(
      `${what}: a newer release has upgraded this database, and this one would write into tables that it does not know; start the newer release, or restore the backup from before the upgrade`,
    );
  }
}

/**
 * Applies the plain SQL files of `migrations/` that the database has not seen, in name order, each in its own transaction, under
 * an advisory lock of that transaction so that many workers may start at once, through a pooler too. Processes of the release
 * before may write meanwhile: a file that locks tables in another order than they do is tried again. Returns the names applied.
 * @throws SchemaNewer, before anything is written, when the database has seen a file that is not here; when an applied file was
 * edited since.
 */
export async function migrate(pool: pg.Pool, folder = FOLDER): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((f) => f.endsWith('.sql')).sort();
  const seen = await readApplied(pool);
  const unknown = [...seen.keys()].filter((name) => !names.includes(name)).sort();
  if (unknown.length > 0) throw new SchemaNewer(`the database has the migration ${unknown.at(-1)}, which is not known here`);
  const applied: string[] = [];
  const last = names.findLast((name) => !seen.has(name));
  for (const name of names) {
    const sql = await readFile(`${folder}/${name}`, 'utf8');
    const before = seen.get(name);
    if (before === sql) continue;
    if (before !== undefined)
      throw new Error(`migration ${name} was changed after it was applied; restore it and add a new file instead`);
    const done = await retry(() => apply(pool, name, sql, name === last ? 'on disk' : 'in turn'), {
      again: ({ error, tries }) => tries < TRIES && codeOfCause(error) === DEADLOCK,
      pauseMs: doubling(100, 3_000),
    });
    if (done) applied.push(name);
  }
  return applied;
}

/** Returns the texts of the files that were applied, by name. */
async function readApplied(pool: pg.Pool): Promise<ReadonlyMap<string, string>> {
  const there = await pool.query<{ there: boolean }>("select to_regclass('public.migrations') is not null as there");
  if (!there.rows[0]?.there) return new Map();
  const { rows } = await pool.query<{ name: string; sql: string }>('select name, sql from migrations');
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** Returns false where another process applied the file meanwhile. */
async function apply(pool: pg.Pool, name: string, sql: string, commit: 'on disk' | 'in turn'): Promise<boolean> {
  const client = await pool.connect();
  try {
    // the last one is waited for, and has those before it on disk as well
    await client.query(commit === 'on disk' ? 'begin' : 'begin; set local synchronous_commit = off');
    await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
    await client.query(
      'create table if not exists migrations (name text primary key, sql text not null, applied_at timestamptz not null default now())',
    );
    const { rowCount } = await client.query('select from migrations where name = $1', [name]);
    if (rowCount === 0) {
      await client.query(sql);
      await client.query('insert into migrations (name, sql) values ($1, $2)', [name, sql]);
    }
    await client.query('commit');
    return rowCount === 0;
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  } finally {
    client.release();
  }
}

function codeOfCause(error: unknown): unknown {
  return ((error as Error).cause as { readonly code?: unknown } | undefined)?.code;
}
