import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { Preparing } from './preparing.ts';

const database = useTestDatabase({ emptied: 'never' });

test('a session parses a text once, and each scope has names of its own', async () => {
  await database.db.connection().execute(async (db) => {
    const [one, other] = [db.withPlugin(new Preparing('one')), db.withPlugin(new Preparing('other'))];
    for (const scope of [one, one, other])
      expect((await sql<{ twoTimes: number }>`select 2 * ${21}::int as two_times`.execute(scope)).rows).toEqual([
        { twoTimes: 42 },
      ]);
    const { rows } = await sql<{ text: string }>`select statement as text from pg_prepared_statements`.execute(db);
    expect(rows.map(({ text }) => text)).toEqual(Array(2).fill('select 2 * $1::int as two_times'));
  });
});

test('where a session lost its names, as behind a pooler, one statement fails and all later ones are sent as they are', async () => {
  await database.db.connection().execute(async (db) => {
    const prepared = db.withPlugin(new Preparing(''));
    const ask = async () => (await sql<{ n: number }>`select ${7}::int as n`.execute(prepared)).rows;
    expect(await ask()).toEqual([{ n: 7 }]);
    await sql`deallocate all`.execute(db);
    await expect(ask()).rejects.toMatchObject({ code: '26000' });
    expect(await ask()).toEqual([{ n: 7 }]);
    const { rows } = await sql`select from pg_prepared_statements`.execute(db);
    expect(rows).toEqual([]);
  });
});

test('rows that have another shape by now fail one statement, and are read from there on', async () => {
  await database.db.connection().execute(async (db) => {
    const prepared = db.withPlugin(new Preparing(''));
    await sql`create temporary table shapes as select 1 as n`.execute(db);
    const ask = async () => (await sql`select * from shapes`.execute(prepared)).rows;
    expect(await ask()).toEqual([{ n: 1 }]);
    await sql`alter table shapes alter column n type text`.execute(db);
    await expect(ask()).rejects.toMatchObject({ code: '0A000' });
    expect(await ask()).toEqual([{ n: '1' }]);
    await sql`drop table shapes`.execute(db);
  });
});
