import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from '../postgres/pool.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../testing/database.ts';
import { fresh, freshTopic, numbered, record } from './contract/fixture.ts';
import { done, gate, until, watch } from './contract/watch.ts';
import { openEmbeddedLog } from './embedded-log.ts';
import type { EventLog } from './event-log.ts';

let database: TestDatabase;
let proxy: CuttableProxy;
let log: EventLog;
const opened: EventLog[] = [];
const children: ChildProcess[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startCuttableProxy(database.url);
  log = await openEmbeddedLog({ url: database.url });
});
afterEach(async () => {
  proxy.restore();
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(opened.splice(0).map((one) => one.close()));
});
afterAll(async () => {
  await log.close();
  await proxy.close();
  await database.drop();
});

describe('appending', () => {
  test('queued appends share transactions, in the order of the calls', async () => {
    const topic = await freshTopic(log);
    const receipts = await Promise.all(numbered(topic, 400).map((one) => log.append([one])));
    expect(receipts.flat().map(({ offset }) => offset)).toEqual(Array.from({ length: 400 }, (_, i) => i));
    const [row] = await query<{ transactions: number }>(
      `select count(distinct log_records.xmin::text) as transactions ${recordsOf(topic)}`,
    );
    expect(row?.transactions).toBeLessThanOrEqual(10); // one per flush: the first call alone, then whatever had queued up
  });

  test('concurrent appends over the same partitions never deadlock and leave no gap in the offsets', async () => {
    const topic = await freshTopic(log, 6);
    const keys = Array.from({ length: 24 }, (_, i) => `key-${i}`);
    const clients = [log, await open(database.url), await open(database.url)];
    await Promise.all(
      clients.map(async (client, c) => {
        const order = c === 1 ? [...keys].reverse() : keys;
        for (let i = 0; i < 40; i++) await client.append(order.map((key) => record(topic, key, `${c}`)));
      }),
    );
    const ends = [...((await log.ends([topic])).get(topic)?.values() ?? [])];
    expect(ends.reduce((sum, end) => sum + end)).toBe(3 * 40 * 24);
    const rows = await query<{ count: number; low: number; high: number }>(
      `select count(*) as count, min("offset") as low, max("offset") as high ${recordsOf(topic)} group by partition`,
    );
    for (const { count, low, high } of rows) expect([low, high]).toEqual([0, count - 1]);
  });

  test('an append to several partitions is in the log whole or not at all', async () => {
    const topic = await freshTopic(log, 4);
    const client = await connect(database.url);
    try {
      // The last partition of the append cannot be written: its next offset is taken by a record that should not be there.
      const ids = await query<{ id: number }>(
        `select partition_id as id from log_partitions join log_topics using (topic_id) where topic = '${topic}' order by 1`,
      );
      await client.query(`insert into log_records values (${ids.at(-1)?.id}, 0, 'k', '', now())`);
      const refused = log.append(numbered(topic, 40, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']));
      await expect(refused).rejects.toMatchObject({ name: 'LogError', code: 'fatal', retryable: false });
      expect([...((await log.ends([topic])).get(topic)?.values() ?? [])]).toEqual([0, 0, 0, 0]);
    } finally {
      await client.end();
    }
  });

  test('a topic keeps its partitions when another number is requested', async () => {
    const topic = await freshTopic(log, 3);
    await log.ensureTopics([topic], 5);
    expect((await log.ends([topic])).get(topic)?.size).toBe(3);
  });

  test.each(['', 'with space', 'a/b', 'x'.repeat(250)])('the topic name %j is refused', async (name) => {
    await expect(log.ensureTopics([name], 1)).rejects.toBeInstanceOf(RangeError);
  });

  test('a key with a NUL character is refused, since Postgres cannot store it', async () => {
    const topic = await freshTopic(log);
    await expect(log.append([record(topic, 'a\0b')])).rejects.toBeInstanceOf(RangeError);
  });

  test('a batch ends with the record that brings it to 4 MiB, however many records are allowed', async () => {
    const topic = await freshTopic(log);
    await log.append(Array.from({ length: 7 }, () => record(topic, 'k', new Uint8Array(1_000_000))));
    const reader = await watch(log, [topic]);
    await until('all was read', () => reader.records().length === 7);
    await reader.close();
    expect(reader.batches.map(({ records }) => records.length)).toEqual([5, 2]);
  });
});

describe('a lost connection', () => {
  test('queued appends wait for the database and succeed', async () => {
    const topic = await freshTopic(log);
    const client = await open(proxy.url);
    await client.append(numbered(topic, 1));
    proxy.cut();
    const waiting = [client.append(numbered(topic, 1, ['k'], 1)), client.append(numbered(topic, 1, ['k'], 2))];
    await new Promise((resolve) => setImmediate(resolve));
    proxy.restore();
    expect((await Promise.all(waiting)).flat().map(({ offset }) => offset)).toEqual([1, 2]);
  });

  test('a subscription joins again and continues after its last answer', async () => {
    const topic = await freshTopic(log);
    await log.append(numbered(topic, 3));
    const reader = await watch(await open(proxy.url), [topic]);
    await until('the first were read', async () => (await cursorOf(reader.group)) === 3);
    proxy.cut();
    await log.append(numbered(topic, 3, ['k'], 3));
    proxy.restore();
    await until('the rest was read', () => reader.records().length === 6);
    await reader.close();
    expect(reader.texts()).toEqual(['k#0', 'k#1', 'k#2', 'k#3', 'k#4', 'k#5']);
  });

  test('appends fail as unreachable when the database stays away beyond the time limit; subscriptions wait for it', async () => {
    const topic = await freshTopic(log);
    const client = await open(proxy.url, 300);
    const waiting: string[] = [];
    const reader = await watch(client, [topic], { onWaiting: (reason) => waiting.push(reason) });
    proxy.cut();
    const unreachable = { name: 'LogError', code: 'unreachable', retryable: true };
    await expect(client.append(numbered(topic, 1))).rejects.toMatchObject(unreachable);
    await expect(client.ends([topic])).rejects.toMatchObject(unreachable);
    await expect(openEmbeddedLog({ url: proxy.url })).rejects.toMatchObject(unreachable);
    await until('it was tried several times', () => waiting.length > 4);
    expect(waiting.at(-1)).toMatch(/^joining the group .*: Postgres cannot be reached/);
    proxy.restore();
    await log.append(numbered(topic, 1));
    await until('the record was read', () => reader.records().length === 1);
    expect(reader.failure.error).toBeUndefined();
    await reader.close();
  });

  test('close does not wait for the database to return', async () => {
    const topic = await freshTopic(log);
    const client = await open(proxy.url);
    const reader = await watch(client, [topic]);
    proxy.cut();
    await reader.close();
    await expect(reader.subscription.finished).resolves.toBeUndefined();
  });

  test('a subscription that is closed while it joins its group again leaves no connection behind', async () => {
    const topic = await freshTopic(log);
    for (let ms = 40; ms < 80; ms += 2) {
      const group = fresh('group');
      const backends = `from pg_stat_activity where application_name = 'espalier log ${group}'`;
      const reader = await watch(log, [topic], { group });
      await query(`select pg_terminate_backend(pid) ${backends}`);
      await delay(ms); // it joins again some 50 ms later, for as long as a few statements take
      await reader.close();
      await until('the server has closed its connection', async () => (await query(`select ${backends}`)).length === 0);
    }
  });

  test('a member that lost its connection is notified, and cannot move the cursor of its successor', async () => {
    const topic = await freshTopic(log);
    await log.append(numbered(topic, 4));
    const working = gate();
    let recorded = false;
    const slow = await watch(await open(proxy.url), [topic], {
      batchLimit: 2,
      async handle(batch, signal) {
        signal.addEventListener('abort', () => {
          recorded = true;
        });
        await working.opened;
        return done(batch);
      },
    });
    await until('the slow member is at work', () => slow.batches.length === 1);
    proxy.cut();
    const next = await watch(log, [topic], { group: slow.group });
    await until('the next member read all', async () => (await cursorOf(slow.group)) === 4);
    expect(recorded).toBe(true);
    working.open(); // the slow member now answers that it is done up to 2
    await slow.close();
    expect(await cursorOf(slow.group)).toBe(4);
    expect(next.texts()).toEqual(['k#0', 'k#1', 'k#2', 'k#3']);
    await next.close();
  });
});

describe('several processes', () => {
  test('processes share the partitions of a group; when one is killed the others take over and repeat its unfinished work', async () => {
    const topic = await freshTopic(log, 4);
    const group = fresh('group');
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const own = await watch(log, [topic], { group });
    const child = startReader(group, topic);
    let round = 0;
    await until('both processes got a part of a round', async () => {
      await log.append(numbered(topic, 8, keys, 8 * round++));
      const ofRound = () =>
        [own.texts(), child.texts].map((texts) => texts.filter((text) => Number(text.slice(2)) >= 8 * (round - 1)).length);
      await until('the round arrived', () => ofRound().reduce((sum, n) => sum + n) >= 8);
      return ofRound().every((n) => n > 0);
    });
    child.process.kill('SIGKILL');
    await log.append(numbered(topic, 8, keys, 8 * round));
    await until(
      'the survivor read the whole round',
      () => own.texts().filter((text) => Number(text.slice(2)) >= 8 * round).length >= 8,
    );
    await own.close();
    const seen = new Set([...own.texts(), ...child.texts]);
    expect(seen.size).toBe(8 * (round + 1));
  });
});

const MODULE = fileURLToPath(new URL('./embedded-log.ts', import.meta.url));
const READER = `
  import { openEmbeddedLog } from ${JSON.stringify(MODULE)};
  const [url, group, topic] = process.argv.slice(1);
  const log = await openEmbeddedLog({ url });
  await log.subscribe({ group, topics: [topic], async handle(batch) {
    for (const { value } of batch.records) console.log(Buffer.from(value).toString());
    return { kind: 'done', next: batch.next };
  } });
`;

/** Starts another process that reads the topic as a member of the group, and remembers what it got. */
function startReader(group: string, topic: string): { readonly process: ChildProcess; readonly texts: readonly string[] } {
  const args = ['--import', 'tsx', '--input-type=module', '-e', READER, database.url, group, topic];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const texts: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => texts.push(line));
  return { process: child, texts };
}

async function open(url: string, patienceMs = 20_000): Promise<EventLog> {
  const client = await openEmbeddedLog({ url, patienceMs });
  opened.push(client);
  return client;
}

const recordsOf = (topic: string): string =>
  `from log_records join log_partitions using (partition_id) join log_topics using (topic_id) where topic = '${topic}'`;

async function cursorOf(group: string): Promise<number | undefined> {
  const rows = await query<{ next_offset: number }>(
    `select next_offset from log_cursors join log_groups using (group_id) where name = '${group}'`,
  );
  return rows[0]?.next_offset;
}

async function query<Row extends object>(sql: string): Promise<Row[]> {
  const client = await connect(database.url);
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
