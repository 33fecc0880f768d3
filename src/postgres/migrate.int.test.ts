import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { until } from '../testing/until.ts';
import { migrate } from './migrate.ts';
import { openPool } from './pool.ts';

let database: TestDatabase;
let pool: pg.Pool;
let folder: string;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openPool(database.url, { max: 3 });
  folder = await mkdtemp(join(tmpdir(), 'espalier-migrations-'));
  await cp('migrations', folder, { recursive: true });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('a migration that a deadlock with a writer ends is tried again and applied once', async () => {
  await pool.query('create table one (n int); create table two (n int)');
  const file = '9999-both.sql';
  await writeFile(
    join(folder, file),
    'insert into one values (1); select pg_sleep(0.3); lock table one in access exclusive mode; lock table two in access exclusive mode',
  );
  const writer = await pool.connect();
  try {
    await writer.query("set deadlock_timeout = '60s'"); // the migration is the one that is ended
    await writer.query('begin; insert into two values (1)');
    const migrated = migrate(pool, folder);
    const waiting = async () => {
      const { rows } = await pool.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%lock table two%'",
      );
      return rows.length > 0;
    };
    await until(waiting);
    await writer.query('insert into one values (2)'); // waits for the migration, which waits for the writer
    await writer.query('commit');
    expect(await migrated).toEqual([file]);
  } finally {
    writer.release(true);
  }
  const { rows } = await pool.query('select n from one order by n');
  expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
});

test('a reading of sums of trees waits while the kept counts are added, and ends no migration', async () => {
  const file = (await readdir(folder)).find((name) => name.endsWith('-kept-counts.sql')) ?? '';
  await pool.query('delete from migrations where name = $1', [file]); // it adds what is not there
  await pool.query('create sequence tries'); // a rollback does not take back
  await writeFile(join(folder, file), `select nextval('tries'); ${await readFile(join(folder, file), 'utf8')}`);
  const writer = await pool.connect();
  const reader = await pool.connect();
  try {
    await writer.query('begin; lock table annotations_v1.annotations in access exclusive mode');
    const migrated = migrate(pool, folder);
    const waiting = async (query: string) => {
      await writer.query('select pg_stat_clear_snapshot()');
      const { rows } = await writer.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like $1",
        [query],
      );
      return rows.length > 0;
    };
    await until(() => waiting('%nextval%'));
    await reader.query("set deadlock_timeout = '60s'"); // the migration is the one that is ended
    const read = reader.query('select count(*)::int as count from tree_sums');
    await until(() => waiting('select count(*)::int%'));
    await writer.query('commit');
    const [{ rows }] = await Promise.all([read, migrated]);
    expect([rows, await migrated]).toEqual([[{ count: 0 }], [file]]);
    expect((await pool.query("select nextval('tries')::int as tries")).rows).toEqual([{ tries: 2 }]); // of one before this
  } finally {
    writer.release(true);
    reader.release(true);
  }
});

test('a migration that fails otherwise is not tried again, and names its file', async () => {
  await writeFile(join(folder, '9999-wrong.sql'), 'select nothing from nowhere');
  await expect(migrate(pool, folder)).rejects.toThrow('migration 9999-wrong.sql failed: relation "nowhere" does not exist');
});
