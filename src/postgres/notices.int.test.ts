import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { until } from '../testing/until.ts';
import { countNotices, type Listening, listen, type Notice } from './notices.ts';
import { connect } from './pool.ts';

let database: TestDatabase;
let proxy: CuttableProxy;
const open: Listening[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startCuttableProxy(database.url);
});
afterEach(async () => {
  proxy.restore();
  await Promise.all(open.splice(0).map((listening) => listening.close()));
});
afterAll(async () => {
  await proxy.close();
  await database.drop();
});

test('notifications of subscribed channels arrive in order with their payload, and others do not', async () => {
  const notices: Notice[] = [];
  open.push(await listen(database.url, ['first', 'second'], (notice) => notices.push(notice)));
  await notify(['first', 'a'], ['third', 'x'], ['second', ''], ['first', 'b']);
  await until(() => notices.length === 3);
  expect(notices).toEqual([
    { channel: 'first', payload: 'a' },
    { channel: 'second', payload: '' },
    { channel: 'first', payload: 'b' },
  ]);
});

test('a listener reconnects after a lost connection and reports it afterwards', async () => {
  const seen: string[] = [];
  open.push(
    await listen(proxy.url, ['first'], ({ payload }) => seen.push(payload), {
      onReconnect: () => void notify(['first', 'sent in onReconnect']),
    }),
  );
  await notify(['first', 'before']);
  await until(() => seen.length === 1);
  for (let times = 2; times < 4; times++) {
    proxy.cut();
    await notify(['first', 'lost']);
    proxy.restore();
    await until(() => seen.length === times);
  }
  expect(seen).toEqual(['before', 'sent in onReconnect', 'sent in onReconnect']);
});

test('a closed listener receives nothing and leaves no connection, also after a loss', async () => {
  const seen: string[] = [];
  const listening = await listen(proxy.url, ['closing'], ({ payload }) => seen.push(payload));
  await listening.close();
  await notify(['closing', 'late']);
  const lost = await listen(proxy.url, ['closing'], ({ payload }) => seen.push(payload));
  proxy.cut();
  await lost.close();
  proxy.restore();
  await until(async () => (await listeners()) === 0);
  expect(seen).toEqual([]);
});

test('a wait beyond a count is woken by the next notification, by an earlier one at once, and by a reconnection', async () => {
  const notices = await countNotices(proxy.url, ['moved']);
  open.push(notices);
  const never = new AbortController().signal;
  const seen = notices.count;
  const waiters = [notices.beyond(seen, 20_000, never), notices.beyond(seen, 20_000, never)];
  await notify(['moved', '']);
  await Promise.all(waiters);
  await notices.beyond(seen, 20_000, never);
  expect(notices.count).toBe(seen + 1);
  const reconnected = notices.beyond(seen + 1, 20_000, never);
  proxy.cut();
  proxy.restore();
  await reconnected;
});

test('a notice that is said not to count is not counted and wakes nobody', async () => {
  const notices = await countNotices(database.url, ['moved'], { counts: ({ payload }) => payload !== 'another' });
  open.push(notices);
  let woken = false;
  const waiting = notices.beyond(0, 20_000, new AbortController().signal).then(() => {
    woken = true;
  });
  await notify(['moved', 'another'], ['moved', 'another']);
  expect([notices.count, woken]).toEqual([0, false]);
  await notify(['moved', 'another'], ['moved', 'this']);
  await waiting;
  expect(notices.count).toBe(1);
});

test('a wait beyond a count ends after its limit, on abort, and on close', async () => {
  const notices = await countNotices(database.url, ['moved']);
  const leaving = new AbortController();
  await notices.beyond(notices.count, 1, leaving.signal);
  const aborted = notices.beyond(notices.count, 20_000, leaving.signal);
  leaving.abort();
  await aborted;
  await notices.beyond(notices.count, 20_000, leaving.signal);
  const closed = notices.beyond(notices.count, 20_000, new AbortController().signal);
  await notices.close();
  await closed;
  expect(notices.count).toBe(0);
});

test('a failing first connection throws, and a channel name that needs quotes is refused', async () => {
  proxy.cut();
  await expect(listen(proxy.url, ['first'], () => undefined)).rejects.toThrow();
  await expect(listen(database.url, ['first; drop table cursors'], () => undefined)).rejects.toBeInstanceOf(RangeError);
});

async function notify(...notices: readonly (readonly [channel: string, payload: string])[]): Promise<void> {
  const client = await connect(database.url);
  for (const notice of notices) await client.query('select pg_notify($1, $2)', [...notice]);
  await client.end();
}

async function listeners(): Promise<number> {
  const client = await connect(database.url);
  const { rows } = await client.query<{ n: number }>(
    "select count(*) as n from pg_stat_activity where application_name = 'espalier listen' and datname = current_database()",
  );
  await client.end();
  return rows[0]?.n ?? Number.NaN;
}
