import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { type CopiedRow, copyBinary, readRows } from './copy-binary-reader.ts';
import { type Database, type Db, openDatabase } from './database.ts';
import { connect } from './pool.ts';
import { AS_COPIED } from './pool-connection.ts';

let made: TestDatabase;
let client: pg.Client;
let database: Database;
beforeAll(async () => {
  made = await createTestDatabase();
  client = await connect(made.url);
  database = await openDatabase(made.url, { max: 1 });
  await client.query('create table kept (place integer, bytes bytea)');
});
afterAll(async () => {
  await client.end();
  await database.close();
  await made.drop();
});

test('bytes of any kind and size, also none, are read back as written', async () => {
  const value = fc.option(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(90_000).map((size) => new Uint8Array(size).fill(size % 256)),
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(value, { maxLength: 12 }), async (values) => {
      await client.query('truncate kept');
      for (const [place, bytes] of values.entries())
        await client.query('insert into kept values ($1, $2)', [place, bytes === null ? null : Buffer.from(bytes)]);
      const rows = await copyBinary(client, 'select place, bytes from kept order by place');
      const written = values.map((bytes, place) => [int4(place), bytes === null ? null : Buffer.from(bytes)]);
      expect(rows).toEqual(written);
      expect(await copied(database.db, 'select place, bytes from kept order by place')).toEqual(written);
    }),
    { numRuns: 3 },
  );
});

test('a failing statement is thrown, and the connection survives', async () => {
  await expect(copyBinary(client, 'select 1 / 0')).rejects.toMatchObject({ code: '22012' });
  expect(await copyBinary(client, 'select 7::int4')).toEqual([[int4(7)]]);
});

test('a statement of the query builder that Postgres refuses is thrown, and the connection survives', async () => {
  await expect(copied(database.db, 'select 1 / 0')).rejects.toMatchObject({ code: '22012' });
  expect(await copied(database.db, 'select 7::int4')).toEqual([[int4(7)]]);
});

test('bytes that are not a binary COPY are refused', () => {
  expect(() => readRows(Buffer.from('PGCOPY, but not quite, and long enough'))).toThrow('not of a binary COPY');
});

function int4(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

async function copied(db: Db, query: string) {
  const { rows } = await db.executeQuery<CopiedRow>({ ...sql.raw(query).compile(db), parameters: [AS_COPIED] });
  return rows;
}
