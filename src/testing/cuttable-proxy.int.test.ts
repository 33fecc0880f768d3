import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Database, openDatabase } from '../postgres/database.ts';
import { connect } from '../postgres/pool.ts';
import { type CuttableProxy, startCuttableProxy } from './cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

let made: TestDatabase;
let database: Database;
let proxy: CuttableProxy;
beforeAll(async () => {
  made = await createTestDatabase();
  database = await openDatabase(made.url);
  proxy = await startCuttableProxy(made.url);
  await database.pool.query('create table noted (n integer)');
});
beforeEach(() => database.pool.query('truncate noted'));
afterAll(async () => {
  await proxy.close();
  await database.close();
  await made.drop();
});

/** Writes a number in a transaction over the proxy; returns whether the client learned that it is there. */
async function note(n: number): Promise<boolean> {
  const client = await connect(proxy.url);
  client.on('error', () => undefined); // the cut
  try {
    await client.query('begin');
    await client.query('insert into noted values ($1)', [n]);
    await client.query('commit');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
const noted = async () => (await database.pool.query<{ n: number }>('select n from noted order by n')).rows.map(({ n }) => n);
const COMMIT = [/insert into noted/, /^Q commit/];

test('an unsent commit has no effect and an unanswered one has, and the client sees either as lost', async () => {
  const unsent = proxy.cutAt({ messages: COMMIT, fate: 'unsent' }, 10_000);
  expect([await note(1), await unsent, await noted()]).toEqual([false, true, []]);
  const unanswered = proxy.cutAt({ messages: COMMIT, fate: 'unanswered' }, 10_000);
  expect([await note(2), await unanswered, await noted()]).toEqual([false, true, [2]]);
  expect([await note(3), await noted()]).toEqual([true, [2, 3]]);
});

test('a moment that does not occur cuts nothing', async () => {
  const waited = proxy.cutAt({ messages: [/copy noted/], fate: 'unsent' }, 300);
  expect(await note(1)).toBe(true);
  expect([await waited, await noted()]).toEqual([false, [1]]);
});
