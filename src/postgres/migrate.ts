import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';

const FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
const LOCK = 0x65_73_70_61; // 'espa': one migrator at a time over the whole database

/**
 * Applies the plain SQL files of `migrations/` that the database has not seen, in name order, each in its own transaction, under
 * an advisory lock so that many workers may start at once. Returns the names applied. @throws when an applied file was edited
 * since.
 */
export async function migrate(pool: pg.Pool, folder = FOLDER): Promise<readonly string[]> {
  const client = await pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await client.query(
      'create table if not exists migrations (name text primary key, sql text not null, applied_at timestamptz not null default now())',
    );
    const seen = new Map<string, string>();
    for (const row of (await client.query<{ name: string; sql: string }>('select name, sql from migrations')).rows)
      seen.set(row.name, row.sql);
    const applied: string[] = [];
    for (const name of (await readdir(folder)).filter((f) => f.endsWith('.sql')).sort()) {
      const sql = await readFile(`${folder}/${name}`, 'utf8');
      const before = seen.get(name);
      if (before === sql) continue;
      if (before !== undefined)
        throw new Error(`migration ${name} was changed after it was applied; restore it and add a new file instead`);
      await apply(client, name, sql);
      applied.push(name);
    }
    return applied;
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
    client.release();
  }
}

async function apply(client: pg.PoolClient, name: string, sql: string): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into migrations (name, sql) values ($1, $2)', [name, sql]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
