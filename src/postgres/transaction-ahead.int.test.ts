import { beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { copyNew, insertFresh, insertRows } from './bulk.ts';
import type { Trx } from './database.ts';
import { sideBySide } from './side-by-side.ts';
import { column, table } from './table.ts';
import { isAhead, transactionAhead } from './transaction-ahead.ts';

const numbers = table('numbers', ['n'], { n: column<number>('integer'), text: column<string>('text') });
const SETTING = "set local application_name = 'ahead'";

const database = useTestDatabase({ emptied: 'never' });
beforeEach(async () => {
  await database.pool.query('drop table if exists numbers; create table numbers (n integer primary key, text text not null)');
});

const ahead = <T>(work: (trx: Trx) => Promise<T>): Promise<T> => transactionAhead(database.db, SETTING, work);
const rowsOf = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ n: from + i, text: `row\t${i}` }));
const count = async (): Promise<number> =>
  (await database.pool.query('select count(*)::int as count from numbers')).rows[0].count;

test('statements side by side are done in the order in which they are asked, each seeing those before it', async () => {
  const seen = await ahead((trx) => {
    expect(isAhead(trx)).toBe(true);
    const many = () => sql<{ count: number }>`select count(*)::int as count from numbers`.execute(trx);
    return sideBySide(
      trx,
      many,
      () => insertRows(trx, numbers, rowsOf(0, 10)),
      many,
      () => copyNew(trx, numbers, rowsOf(10, 30)),
      () => insertFresh(trx, numbers, rowsOf(30, 130)),
      () => insertRows(trx, numbers, rowsOf(0, 130)), // those that are there are skipped
      many,
      () => sql<{ name: string }>`select current_setting('application_name') as name`.execute(trx),
    );
  });
  expect(seen.map((answer) => answer?.rows ?? null)).toEqual([
    ...[[{ count: 0 }], null, [{ count: 10 }], null, null, null, [{ count: 130 }], [{ name: 'ahead' }]],
  ]);
  expect(await count()).toBe(130);
});

test('where one fails nothing stays of all, what failed first is thrown, and the connection works on', async () => {
  for (let i = 0; i < 3; i++) {
    const failed = ahead((trx) =>
      sideBySide(
        trx,
        () => insertRows(trx, numbers, rowsOf(0, 3)),
        () => copyNew(trx, numbers, rowsOf(2, 70_000)), // Postgres refuses it while rows are on their way
        () => insertRows(trx, numbers, rowsOf(100_000, 100_001)),
      ),
    );
    await expect(failed).rejects.toMatchObject({ code: '23505' });
    expect(await count()).toBe(0);
  }
});

test('a statement behind the end of its transaction is not sent', async () => {
  let kept: Trx | undefined;
  const insert = (trx: Trx) => insertRows(trx, numbers, rowsOf(0, 1));
  const failed = ahead(async (trx) => {
    kept = trx;
    await insert(trx);
    throw new Error('enough');
  });
  await expect(failed).rejects.toThrow('enough');
  if (!kept) throw new Error('the work was done');
  await expect(insert(kept)).rejects.toThrow('behind the end');
  await ahead(async (trx) => {
    kept = trx;
  });
  await expect(insert(kept)).rejects.toThrow('behind the end');
  expect(await count()).toBe(0);
});

test('a session that ends in the middle fails all that was asked, and others take its place', async () => {
  const failed = ahead((trx) =>
    sideBySide(
      trx,
      () => insertRows(trx, numbers, rowsOf(0, 3)),
      () => sql`select pg_terminate_backend(pg_backend_pid())`.execute(trx),
      () => copyNew(trx, numbers, rowsOf(3, 5_000)),
    ),
  );
  await expect(failed).rejects.toThrow();
  expect(await count()).toBe(0);
  await ahead((trx) => copyNew(trx, numbers, rowsOf(0, 5)));
  expect(await count()).toBe(5);
});
