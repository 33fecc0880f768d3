import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { askPrepared } from './ask-prepared.ts';
import type { Db } from './database.ts';

const database = useTestDatabase({ emptied: 'never' });
const ask = async (db: Db) => (await sql<{ n: number }>`select ${7}::int as n`.execute(db)).rows;
const prepared = async (db: Db) => (await sql`select from pg_prepared_statements`.execute(db)).rows.length;

test('a question is answered by a statement that its session prepares, and by its text where the session had lost it', async () => {
  await database.db.connection().execute(async (db) => {
    for (let i = 0; i < 3; i++) expect(await askPrepared(db, ask)).toEqual([{ n: 7 }]);
    expect(await prepared(db)).toBe(1);
    await sql`deallocate all`.execute(db);
    for (let i = 0; i < 2; i++) expect(await askPrepared(db, ask)).toEqual([{ n: 7 }]);
    expect(await prepared(db)).toBe(0);
  });
});

test('within a transaction, which the loss of a statement would end, none is prepared', async () => {
  await database.db.transaction().execute(async (trx) => {
    const before = await prepared(trx);
    expect(await askPrepared(trx, ask)).toEqual([{ n: 7 }]);
    expect(await prepared(trx)).toBe(before);
  });
});

test('what fails for another reason is not asked again', async () => {
  let asked = 0;
  const wrong = async (db: Db) => {
    asked += 1;
    await sql`select 1 / ${0}::int`.execute(db);
  };
  await expect(askPrepared(database.db, wrong)).rejects.toMatchObject({ code: '22012' });
  expect(asked).toBe(1);
});
