import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../runtime/free-port.ts';
import { startStandby } from '../testing/start-standby.ts';
import { until } from '../testing/until.ts';
import { openDatabase } from './database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-server.ts';
import { fewConnections } from './few-connections.ts';
import { connect, openPool } from './pool.ts';

let folder: string;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let away: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-hosts-'));
  primary = await startEmbeddedPostgres({ folder: join(folder, 'primary') });
  standby = await startStandby(primary, join(folder, 'primary'), join(folder, 'standby'));
  away = await freePort();
});
afterAll(async () => {
  await standby?.close();
  await primary?.close();
  await rm(folder, { recursive: true, force: true });
});

const portOf = (url: string) => new URL(url).port;
const addressOf = (ports: readonly (string | number)[], attrs?: string) => {
  const url = new URL(primary.url);
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return `postgres://${url.username}:${url.password}@${hosts}/postgres${attrs ? `?target_session_attrs=${attrs}` : ''}`;
};
async function reached(url: string): Promise<string> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ port: string }>("select current_setting('port') as port");
    return rows[0]?.port ?? '';
  } finally {
    await client.end();
  }
}

test('of several hosts the first that answers, and is of the kind that target_session_attrs asks for, is used', async () => {
  const [first, second] = [portOf(primary.url), portOf(standby.url)];
  expect(await reached(addressOf([second, first]))).toBe(second);
  expect(await reached(addressOf([away, second, first]))).toBe(second);
  for (const attrs of ['primary', 'read-write']) expect(await reached(addressOf([away, second, first], attrs))).toBe(first);
  for (const attrs of ['standby', 'read-only', 'prefer-standby'])
    expect(await reached(addressOf([first, away, second], attrs))).toBe(second);
  expect(await reached(addressOf([first, away], 'prefer-standby'))).toBe(first);
  await expect(reached(addressOf([first], 'standby'))).rejects.toThrow('target_session_attrs');
  await expect(reached(addressOf([away, second], 'primary'))).rejects.toThrow('target_session_attrs');
});

test('a pool goes on to another server before a query fails, also when each of its connections is new', async () => {
  const [first, second] = [portOf(primary.url), portOf(standby.url)];
  const answers = async (url: string) => {
    const pool = openPool(url, { max: 3 });
    pool.options.maxUses = 1;
    const ask = async () => (await pool.query<{ port: string }>("select current_setting('port') as port")).rows[0]?.port;
    try {
      return [await ask(), await ask(), ...(await Promise.all([ask(), ask(), ask(), ask()]))];
    } finally {
      await pool.end();
    }
  };
  expect(new Set(await answers(addressOf([first, away], 'prefer-standby')))).toEqual(new Set([first]));
  expect(new Set(await answers(addressOf([away, second, first], 'primary')))).toEqual(new Set([first]));
  await expect(answers(addressOf([away, second], 'primary'))).rejects.toThrow(/ECONNREFUSED|target_session_attrs/);
});

test('a server that is unreachable is named without the password of its address', async () => {
  await expect(openDatabase(`postgres://u:p@ss@127.0.0.1:${away}/postgres?password=pass`)).rejects.toThrow(
    `at postgres://u@127.0.0.1:${away}/postgres?password=…: connect ECONNREFUSED`,
  );
});

test('a pool follows the primary: when it is away, its connections go to the standby that was promoted', async () => {
  const database = await openDatabase(addressOf([portOf(primary.url), portOf(standby.url)], 'primary'), { max: 3 });
  try {
    await database.pool.query('create table kept (n int)');
    await database.pool.query('insert into kept values (1)');
    const follower = await connect(standby.url);
    await until(async () => (await follower.query("select to_regclass('kept') is not null as there")).rows[0].there);
    await primary.close();
    await follower.query('select pg_promote()');
    await follower.end();
    await until(
      async () =>
        await database.pool.query('insert into kept values (2)').then(
          () => true,
          () => false,
        ),
    );
    const { rows } = await database.pool.query('select count(*)::int as count, current_setting($1) as port from kept', ['port']);
    expect(rows).toEqual([{ count: 2, port: portOf(standby.url) }]);
  } finally {
    await database.close();
  }
});

test('an account or a server with fewer connections than a process may open is named, with the remedy', async () => {
  const pool = openPool(addressOf([portOf(standby.url)]), { max: 2 });
  try {
    expect(await fewConnections(pool, 16)).toBeNull();
    const few = await fewConnections(pool, 1_000);
    expect(few).toMatch(/^Postgres has \d+ of 197 connections left for espalier, and a process may open 1000;/);
    await pool.query('create role plain');
    await pool.query('set role plain');
    expect(await fewConnections(pool, 1_000)).toBe(few?.replace('for espalier', 'for plain'));
    await pool.query('reset role');
    await pool.query('create role small connection limit 3');
    await pool.query('set role small');
    expect(await fewConnections(pool, 4)).toContain('has 3 of 3 connections left for small');
  } finally {
    await pool.end();
  }
});

test('a socket, and what an address leaves to PGHOST and the like, are used as libpq uses them', async () => {
  const { username, password } = new URL(primary.url);
  const before = { ...process.env };
  Object.assign(process.env, {
    PGHOST: '127.0.0.1',
    PGPORT: portOf(standby.url),
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: 'postgres',
  });
  try {
    expect(await reached('postgres://')).toBe(portOf(standby.url));
  } finally {
    process.env = before;
  }
  await expect(reached('postgres:///postgres?host=/nowhere/of/sockets&user=u')).rejects.toThrow(
    '/nowhere/of/sockets/.s.PGSQL.5432',
  );
});
