import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { until } from '../testing/until.ts';
import { type Database, type Db, openDatabase } from './database.ts';
import { whileHeld } from './hold-transaction.ts';

const SILENCE_MS = 1_000;
let database: TestDatabase;
let opened: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  opened = await openDatabase(database.url);
});
afterAll(async () => {
  await opened.close();
  await database.drop();
});

const isFree = async (db: Db, key: number): Promise<boolean> => {
  const { rows } = await sql<{ got: boolean }>`select pg_try_advisory_xact_lock(${key}::bigint) as got`.execute(db);
  return rows[0]?.got === true;
};

test('a transaction stays open as long as the work for which it is held, and its locks go with it', async () => {
  const { db } = opened;
  const openFor = async () => {
    const { rows } = await sql<{ ms: number }>`
      select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 * 1000 as ms from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`.execute(db);
    return rows[0]?.ms ?? 0;
  };
  const result = await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(1)`.execute(trx);
    return whileHeld(
      trx,
      async (held) => {
        await until(async () => (await openFor()) > 3 * SILENCE_MS);
        await held.confirm();
        expect([held.signal.aborted, await isFree(db, 1)]).toEqual([false, false]);
        return 'done';
      },
      SILENCE_MS,
    );
  });
  expect([result, await isFree(db, 1)]).toEqual(['done', true]);
});

test('a process that is stopped loses its transaction and the locks, and learns of it before it goes on', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', HOLDER, database.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  try {
    await until(async () => lines.includes('held'));
    expect(await isFree(opened.db, 2)).toBe(false);
    child.kill('SIGSTOP');
    await until(async () => isFree(opened.db, 2));
    child.kill('SIGCONT');
    await once(child, 'exit');
    expect(lines).toEqual(['held', 'not confirmed', 'aborted']);
  } finally {
    child.kill('SIGKILL');
  }
});

const MODULE = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)));
const HOLDER = `
  import { sql } from 'kysely';
  import { openDatabase } from ${MODULE('./database.ts')};
  import { whileHeld } from ${MODULE('./hold-transaction.ts')};
  const { db } = await openDatabase(process.argv[1]);
  await db.transaction().execute(async (trx) => {
    await sql\`select pg_advisory_xact_lock(2)\`.execute(trx);
    await whileHeld(trx, async (held) => {
      console.log('held');
      while (await held.confirm().then(() => true, () => false)) await new Promise((go) => setTimeout(go, 10));
      console.log('not confirmed');
      if (held.signal.aborted) console.log('aborted');
    }, ${SILENCE_MS});
  }).catch(() => undefined);
  process.exit(0);
`;
