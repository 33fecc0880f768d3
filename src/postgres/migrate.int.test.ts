import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { createDatabase, type TestDatabase } from '../testing/database.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pool.ts';

let database: TestDatabase;
let pool: pg.Pool;
let folder: string;
beforeEach(async () => {
  database = await createDatabase(process.env.DATABASE_URL ?? '', 'espalier_test', 'template0');
  pool = openPool(database.url, { max: 3 });
  folder = await mkdtemp(join(tmpdir(), 'espalier-migrations-'));
  await cp('migrations', folder, { recursive: true });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** The names of all tables of the database. */
const tablesOf = async () =>
  (await pool.query("select tablename from pg_tables where schemaname = 'public' order by 1")).rows.map(
    ({ tablename }) => tablename,
  );

test('files are applied once, in name order, also by processes that start at the same time', async () => {
  const [first, second] = await Promise.all([migrate(pool, folder), migrate(pool, folder)]);
  expect([...first, ...second]).toEqual([...first, ...second].sort());
  expect([first.length, second.length]).toContain(0);
  await writeFile(join(folder, '9001-later.sql'), 'create table later (n integer)');
  await writeFile(join(folder, '9002-latest.sql'), 'alter table later add column m integer');
  expect(await migrate(pool, folder)).toEqual(['9001-later.sql', '9002-latest.sql']);
  expect(await migrate(pool, folder)).toEqual([]);
});

test('a file that fails is named, and nothing of a start that fails stays', async () => {
  await writeFile(join(folder, '9001-later.sql'), 'create table later (n integer)');
  await writeFile(join(folder, '9999-wrong.sql'), 'select nothing from nowhere');
  await expect(migrate(pool, folder)).rejects.toThrow('migration 9999-wrong.sql failed: relation "nowhere" does not exist');
  expect(await tablesOf()).toEqual([]);
});

describe('a database of another version is refused with what was found and the remedy, and is not written to', () => {
  const TABLE =
    'create table migrations (name text primary key, sql text not null, applied_at timestamptz not null default now())';
  test.each([
    [
      'the migrations of an earlier state',
      `${TABLE}; insert into migrations (name, sql) values ('0001-log.sql', 'a'), ('0051-storage.sql', 'b')`,
      'the database has the migration 0051-storage.sql, which is not known here: ',
    ],
    [
      'a migration of a known name with another text',
      `${TABLE}; insert into migrations (name, sql) values ('0001-log.sql', 'create table log (n integer)')`,
      'the database has the migration 0001-log.sql with another text than it has here: ',
    ],
    [
      'a table of migrations that keeps no texts',
      "create table migrations (name text primary key); insert into migrations values ('0001-log.sql')",
      'the database has the migration 0001-log.sql with another text than it has here: ',
    ],
    [
      'the migrations of a later release',
      `${TABLE}; insert into migrations (name, sql) values ('9000-later.sql', '')`,
      'the database has the migration 9000-later.sql, which is not known here: ',
    ],
  ])('%s', async (_, made, found) => {
    await pool.query(made);
    const refused = await migrate(pool, folder).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'SchemaUnknown', message: expect.stringContaining(found) });
    expect(refused).toMatchObject({ message: expect.stringContaining('`espalier export --format jsonl --scope trees`') });
    expect(refused).toMatchObject({ message: expect.stringContaining('import the files into a new database') });
    expect(await tablesOf()).toEqual(['migrations']);
  });
});
