import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { DirectUrlNeeded } from '../postgres/pooled-sessions.ts';
import { readConfig } from '../runtime/config.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { createTestDatabase } from '../testing/database.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type Pooler, startPgbouncer } from '../testing/pgbouncer.ts';
import { until } from '../testing/until.ts';
import { killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

// The real pgbouncer, from Debian's packages (`.ci/run` installs it): where it is missing these tests fail.
let platform: Platform & { readonly home: string };
let pooler: Pooler;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  platform = await openTestPlatform();
  pooler = await startPgbouncer(platform.databaseUrl, 'transaction');
  env = { ...environmentOf(platform), DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: platform.databaseUrl };
});
afterAll(async () => {
  await killRunning();
  await pooler.close();
  await platform.close();
});

async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args, env);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

test('everything runs through a pooler in transaction mode: collect, train, export, replay, rebuild, as-of and verify next to a server', async () => {
  const up = startProcess('src/cli/main.ts', ['up'], env);
  await until(() => up.stdout().includes('http://'));
  const run = newId();
  const collecting = ['collect', '--task', '0', '40', '7', '--rollouts', '3', '--policy', 'planner:0.4', '--max-steps', '12'];
  await done(...collecting, '--run', run);
  const position = JSON.parse(await done('--json', 'verify')) as object;
  expect(position).toMatchObject({ faulty: 0 });
  const before = await done('tree', await firstTree(run));
  const moment = new Date().toISOString();
  await done(...collecting, '--run', newId());
  const trained = await done(
    '--json',
    'train',
    '--policy',
    'pooled',
    '--updates',
    '2',
    '--groups',
    '2',
    '--group',
    '2',
    '--tasks',
    '8',
  );
  expect(JSON.parse(trained)).toMatchObject({ state: 'completed', version: 2 });
  await done('export', '--run', run, '--out', join(platform.home, 'pooled.jsonl'));
  expect(await done('tree', '--as-of', moment, await firstTree(run))).toBe(before);
  expect(await done('replay', 'projections')).toContain('equal');
  await done('rebuild', 'step-tree');
  expect(JSON.parse(await done('--json', 'verify'))).toMatchObject({ faulty: 0 });
  const { db } = platform.database;
  expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  up.kill('SIGTERM');
  expect(await up.ended).toBe(0);
});

test('a pooler in transaction mode without a direct address is refused at the start, with the remedy', async () => {
  const { DATABASE_DIRECT_URL: _, ...pooled } = env;
  const { code, stderr } = await runInProcess(['status'], pooled);
  expect(stderr).toBe(
    'espalier: a pooler lends connections by the transaction at the address for sessions of Postgres; set DATABASE_DIRECT_URL to the address of Postgres itself; DATABASE_URL may stay that of the pooler\n',
  );
  expect(code).toBe(1);
});

test('a direct address that leads to another database is refused', async () => {
  const other = await createTestDatabase();
  try {
    const config = readConfig({ ...env, DATABASE_DIRECT_URL: other.url });
    await expect(openPlatform(config, 'test')).rejects.toThrow(DirectUrlNeeded);
    await expect(openPlatform(config, 'test')).rejects.toThrow('leads to another database than DATABASE_URL');
  } finally {
    await other.drop();
  }
});

test('a pooler that lends whole sessions needs no direct address', async () => {
  const sessions = await startPgbouncer(platform.databaseUrl, 'session');
  try {
    const { DATABASE_DIRECT_URL: _, ...pooled } = env;
    const platform = await openPlatform(readConfig({ ...pooled, DATABASE_URL: sessions.url }), 'test');
    await platform.close();
  } finally {
    await sessions.close();
  }
});

async function firstTree(run: string): Promise<string> {
  const { db } = platform.database;
  const find = () => db.selectFrom('trees').select('treeId').where('runId', '=', run).orderBy('treeId').executeTakeFirst();
  await until(async () => (await find()) !== undefined);
  return (await find())?.treeId ?? '';
}
