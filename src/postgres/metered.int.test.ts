import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { eachCopied } from './copy-out.ts';
import { type Database, openDatabase } from './database.ts';
import { metered } from './metered.ts';
import type { StatementMeter } from './statement-meter.ts';

let made: TestDatabase;
let database: Database;
beforeAll(async () => {
  made = await createTestDatabase();
  database = await openDatabase(made.url, { max: 1 });
});
afterAll(async () => {
  await database.close();
  await made.drop();
});

/** Takes so many rows. */
function meterOf(limit: number, statementMs = 10_000): StatementMeter & { rows: number; bytes: number } {
  return {
    rows: 0,
    bytes: 0,
    statementMs,
    row(bytes) {
      this.bytes += bytes;
      if (++this.rows > limit) throw new RangeError(`more than ${limit} rows`);
    },
    late: () => new RangeError('too late'),
  };
}

test('every row of a metered statement is charged with its bytes, and those of others are not', async () => {
  const meter = meterOf(100);
  const db = metered(database.db, meter);
  expect((await sql`select n, repeat('x', 100) as text from generate_series(1, 7) n`.execute(db)).rows).toHaveLength(7);
  await sql`select n from generate_series(1, 5) n`.execute(database.db);
  expect(meter.rows).toBe(7);
  expect(meter.bytes).toBeGreaterThan(700);
});

test('a statement that returns more than its meter takes ends there, and the pool serves the next one', async () => {
  const meter = meterOf(10);
  await expect(sql`select n from generate_series(1, 10000000) n`.execute(metered(database.db, meter))).rejects.toThrow(
    'more than 10 rows',
  );
  expect(meter.rows).toBe(11);
  await expect(sql`select n from generate_series(1, 12) n`.execute(metered(database.db, meterOf(10)))).rejects.toThrow(
    'more than 10 rows', // also where all of them came at once
  );
  expect((await sql`select 1 as n`.execute(database.db)).rows).toEqual([{ n: 1 }]);
});

test('a metered statement ends after its time, alone or in a transaction, and the limit ends with it', async () => {
  const slow = sql`select pg_sleep(60)`;
  const db = metered(database.db, meterOf(10, 20));
  await expect(slow.execute(db)).rejects.toThrow('too late');
  await expect(db.transaction().execute((trx) => slow.execute(trx))).rejects.toThrow('too late');
  const { rows } = await sql`select current_setting('statement_timeout') as limit`.execute(database.db);
  expect(rows).toEqual([{ limit: '0' }]);
});

test('rows of a metered COPY end after its time, the limit ends with them, and it cannot write', async () => {
  const db = metered(database.db, meterOf(10, 20));
  const copy = (query: string) => eachCopied(db, sql.raw(query), () => undefined);
  await expect(copy('select pg_sleep(60)')).rejects.toThrow('too late');
  await expect(copy("select nextval('outbox_outbox_id_seq')")).rejects.toMatchObject({ code: '25006' });
  const { rows } =
    await sql`select current_setting('statement_timeout') as limit, pg_current_xact_id_if_assigned() as xact`.execute(
      database.db,
    );
  expect(rows).toEqual([{ limit: '0', xact: null }]);
});

test('rows of a metered COPY that are more than its meter takes end there, and the pool serves the next one', async () => {
  const meter = meterOf(10);
  let taken = 0;
  const copy = (limit: StatementMeter, rows: number) =>
    eachCopied(metered(database.db, limit), sql`select generate_series(1, ${sql.lit(rows)}::bigint) as n`, () => {
      taken++;
    });
  await expect(copy(meter, 10_000_000_000)).rejects.toThrow('more than 10 rows'); // all of them would take an hour
  expect(taken).toBeLessThanOrEqual(10);
  await copy(meterOf(100), 12);
  expect((await sql`select 1 as n`.execute(database.db)).rows).toEqual([{ n: 1 }]);
});

test('a metered statement cannot write', async () => {
  const db = metered(database.db, meterOf(10));
  await expect(sql`create table written (n int)`.execute(db)).rejects.toMatchObject({ code: '25006' });
  await expect(sql`select no_column from cursors`.execute(db)).rejects.toMatchObject({ code: '42703' });
});

test('the statements of a metered transaction are charged and see one snapshot', async () => {
  const meter = meterOf(100);
  const found = await metered(database.db, meter)
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => [
      (await sql<{ id: string }>`select pg_current_snapshot()::text as id`.execute(trx)).rows[0]?.id,
      (await sql<{ id: string }>`select pg_current_snapshot()::text as id`.execute(trx)).rows[0]?.id,
    ]);
  expect(found[0]).toBe(found[1]);
  expect(meter.rows).toBe(2);
});
