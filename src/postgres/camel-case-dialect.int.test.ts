import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { camelCase, snakeCase } from './camel-case.ts';
import { type Database, openDatabase } from './database.ts';
import { tables } from './tables.ts';

let made: TestDatabase;
let database: Database;
beforeAll(async () => {
  made = await createTestDatabase();
  database = await openDatabase(made.url);
});
afterAll(async () => {
  await database.close();
  await made.drop();
});

test('every name of a table comes back from camelCase', () => {
  const names = Object.values(tables).flatMap(({ name, columns }) => [name, ...Object.keys(columns).map(snakeCase)]);
  expect(names.filter((name) => snakeCase(camelCase(name)) !== name)).toEqual([]);
});

test('a query in camelCase reads and writes columns in snake_case', async () => {
  const { db } = database;
  await db
    .insertInto('apiKeys')
    .values({ keyId: '00000000-0000-4000-8000-000000000001', name: 'a', hash: Buffer.of(1), scopes: [] })
    .execute();
  const rows = await db
    .selectFrom('apiKeys')
    .select(['apiKeys.keyId', 'revokedAt as endedAt'])
    .where('revokedAt', 'is', null)
    .execute();
  expect(rows).toEqual([{ keyId: '00000000-0000-4000-8000-000000000001', endedAt: null }]);
  const direct = await database.pool.query('select key_id from api_keys'); // the pool itself renames nothing
  expect(direct.rows).toEqual([{ key_id: '00000000-0000-4000-8000-000000000001' }]);
});

test('columns of raw SQL are renamed, and neither the keys of JSON nor values are', async () => {
  const { rows } = await sql`select 1 as one_two, 'x_y' as text, '{"a_b": {"c_d": 1}}'::jsonb as some_json`.execute(database.db);
  expect(rows).toEqual([{ oneTwo: 1, text: 'x_y', someJson: { a_b: { c_d: 1 } } }]);
});

test('a refused statement fails with the error of Postgres, and the connection serves the next one', async () => {
  await expect(sql`select no_column from api_keys`.execute(database.db)).rejects.toMatchObject({ code: '42703' });
  expect((await sql`select 1 as n`.execute(database.db)).rows).toEqual([{ n: 1 }]);
});

test('a text of several statements is carried out whole', async () => {
  await sql.raw('create temporary table a_a (b_b int); insert into a_a values (1)').execute(database.db);
  expect((await sql`select count(*) as n from cursors`.execute(database.db)).rows).toEqual([{ n: 0 }]);
});

test('a connection whose session the server ends is never handed out again', async () => {
  for (let i = 0; i < 20; i++) {
    const ended = sql`select pg_terminate_backend(pg_backend_pid())`.execute(database.db);
    await expect(ended).rejects.toMatchObject({ code: '57P01' });
    expect((await sql<{ n: number }>`select 1 as n`.execute(database.db)).rows).toEqual([{ n: 1 }]);
  }
});
