import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { SchemaUnknown } from '../postgres/migrate.ts';
import { codeVersionOf, type Projection, schemaNameOf } from './projection.ts';
import { projections as registered } from './registry.ts';
import { VIEW_NAME } from './view-names.ts';

const LOCK = 0x65_73_70_62; // one installer at a time

/**
 * Creates the tables of every projection (in a schema of its own per version, from the `tables.sql` next to its code) and makes
 * the views in `public` by which everyone reads them. Doing it again changes nothing. Readers never name a versioned schema, so
 * that a rebuilt version goes live by one swap of views.
 */
export async function installProjections(pool: pg.Pool, projections: readonly Projection[] = registered): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
    for (const projection of projections) await install(client, projection);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Refuses a database whose read models a later release folds, before anything is written to it: this code would show them by
 * columns that it does not know. @throws SchemaUnknown.
 */
export async function refuseNewerProjections(pool: pg.Pool, projections: readonly Projection[] = registered): Promise<void> {
  const there = await pool.query<{ there: boolean }>("select to_regclass('public.projections') is not null as there");
  if (!there.rows[0]?.there) return;
  const { rows } = await pool.query<{ name: string; version: number }>('select name, version from projections order by name');
  for (const { name, version } of rows) {
    const known = projections.find((projection) => projection.name === name);
    if (known && codeVersionOf(version) <= known.version) continue;
    const here = known ? `known here up to version ${known.version}` : 'not known here';
    throw new SchemaUnknown(`the read model ${name} is live in version ${codeVersionOf(version)} and ${here}`);
  }
}

async function install(client: pg.PoolClient, projection: Projection): Promise<void> {
  // One that is there stays as it is, whatever version is live: newer code is built next to it and takes over by `espalier
  // rebuild`.
  const { rowCount } = await client.query('select 1 from projections where name = $1', [projection.name]);
  if (rowCount) return;
  const schema = schemaNameOf(projection);
  const sql = await readFile(tablesFileOf(projection.name), 'utf8');
  await client.query(`create schema ${schema}; set local search_path = ${schema}; ${sql}; set local search_path = public`);
  const tables = await client.query<{ tablename: string; shown: string }>(
    `select t.tablename, ${VIEW_NAME} as shown from pg_tables t where t.schemaname = $1`,
    [schema],
  );
  for (const { tablename, shown } of tables.rows)
    await client.query(`create or replace view public.${tablename} as select * from ${schema}.${shown}`);
  await client.query('insert into projections (name, version) values ($1, $2)', [projection.name, projection.version]);
}

/** Returns the file that declares a projection's tables, next to its code. */
export function tablesFileOf(name: string): URL {
  return new URL(`./${name}/tables.sql`, import.meta.url);
}
