import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningKafka, startKafka } from '../../infra/kafka/start-kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { freshTopic, record } from './contract/fixture.ts';
import { gate, ofKey, readAll, until, watch } from './contract/watch.ts';
import type { Receipt } from './event-log.ts';
import { openKafkaLog } from './kafka-log.ts';

const KEYS = ['a', 'b', 'c'];
// A consumer that lost its broker comes back as a new member and waits until the session of its former self is over.
const SESSION_MS = 6_000; // the shortest a broker grants

describeWithKafka('when the broker fails', () => {
  let folder = '';
  let kafka: RunningKafka | undefined;
  const broker = (): RunningKafka => {
    if (kafka === undefined) throw new Error('the broker runs only while tests run');
    return kafka;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-outage-'));
    kafka = await startKafka({ folder });
  });
  afterAll(async () => {
    await kafka?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  test('a kill -9 of the broker loses and reorders no acknowledged record, and appends and subscriptions continue by themselves', async () => {
    const log = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage', sessionMs: SESSION_MS });
    const topic = await freshTopic(log, 2);
    const reader = await watch(log, [topic]);
    const receipts: (readonly Receipt[])[] = [];
    const sent = { count: 0 };
    const enough = gate();
    let running = true;
    void enough.opened.then(() => {
      running = false;
    });
    // Three appends are always on their way, so that the kill meets some.
    const appenders = KEYS.map(async (key) => {
      for (let i = 0; running; i++) {
        sent.count++;
        receipts.push(await log.append([record(topic, key, `${key}#${i}`)]));
      }
    });
    await until('appends are acknowledged', () => receipts.length > 100);
    await broker().kill();
    const before = receipts.length;
    kafka = await startKafka({ folder, port: broker().port });
    await until('appends go on', () => receipts.length > before + 100);
    enough.open();
    await Promise.all(appenders);
    expect(receipts).toHaveLength(sent.count);

    const stored = await readAll(log, topic, sent.count);
    const places = new Set(stored.map((r) => `${r.partition}/${r.offset}`));
    expect(receipts.flat().filter(({ partition, offset }) => !places.has(`${partition}/${offset}`))).toEqual([]);
    for (const key of KEYS) {
      const firsts = [...new Set(ofKey(stored, key))]; // a send whose answer was lost may be doubled
      expect(firsts).toEqual(firsts.map((_, i) => `${key}#${i}`));
    }
    await until('the subscription saw all', () => new Set(reader.texts()).size === sent.count);
    expect(reader.failure.error).toBeUndefined();
    await reader.close();
    expect((await log.ends([topic])).get(topic)?.size).toBe(2);
    await log.close();
  });

  test('an append that no broker accepts in time is refused as unreachable, with everything queued behind it', async () => {
    const log = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage', deliveryMs: 100 });
    const topic = await freshTopic(log);
    await log.append([record(topic, 'k', 'before')]);
    await broker().kill();
    const refused = await Promise.allSettled([1, 2, 3].map((i) => log.append([record(topic, 'k', `lost-${i}`)])));
    for (const result of refused) {
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'LogError', code: 'unreachable', retryable: true } });
    }
    kafka = await startKafka({ folder, port: broker().port });
    await until('an append is taken again', () =>
      log.append([record(topic, 'k', 'after')]).then(
        () => true,
        () => false,
      ),
    );
    expect((await readAll(log, topic, 2)).map((r) => r.text)).toEqual(['before', 'after']);
    await log.close();
  });

  test('a frozen broker rejects `finished` as fatal, and close still ends', async () => {
    const log = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage', silenceMs: 1_500 });
    const topic = await freshTopic(log);
    const reader = await watch(log, [topic]);
    process.kill(broker().pid, 'SIGSTOP');
    try {
      await until('finished rejected', () => reader.failure.error !== undefined);
      expect(reader.failure.error).toMatchObject({ name: 'LogError', code: 'fatal', message: expect.stringContaining('silent') });
    } finally {
      process.kill(broker().pid, 'SIGCONT');
    }
    await log.close();
  });

  test('a client that opens the log while its broker restarts reads its ends', async () => {
    const log = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage' });
    const topics: string[] = [];
    for (let i = 0; i < 8; i++) topics.push(await freshTopic(log, 8));
    for (const topic of topics) await log.append([record(topic, 'k')]);
    await log.close();
    await broker().kill();
    const starting = startKafka({ folder, port: broker().port });
    let started = false;
    void starting.then(() => {
      started = true;
    });
    let opened = 0;
    for (let last = false; !last; ) {
      last = started;
      const again = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage' }).catch(() => undefined);
      if (again === undefined) continue;
      opened++;
      const ends = await again.ends(topics).finally(() => again.close());
      for (const topic of topics) expect([...(ends.get(topic)?.values() ?? [])].reduce((sum, end) => sum + end, 0)).toBe(1);
    }
    kafka = await starting;
    expect(opened).toBeGreaterThan(0);
  });

  test('close ends although the broker has gone', async () => {
    const log = await openKafkaLog({ brokers: broker().brokers, clientId: 'outage' });
    const topic = await freshTopic(log);
    const reader = await watch(log, [topic]);
    await broker().kill();
    const append = expect(log.append([record(topic, 'k')])).rejects.toMatchObject({ code: 'unreachable' });
    await log.close();
    await append;
    await expect(reader.subscription.finished).resolves.toBeUndefined();
    kafka = await startKafka({ folder, port: broker().port });
  });

  test('a subscription continues after searches for the coordinator of its group that failed', async () => {
    const own = await mkdtemp(join(tmpdir(), 'espalier-coordinator-'));
    // Coordinators keep a topic, of which a single broker cannot hold two copies.
    let server = await startKafka({ folder: own, settings: { 'offsets.topic.replication.factor': 2 } });
    const warnings: string[] = [];
    const log = await openKafkaLog({ brokers: server.brokers, clientId: 'outage', warn: (message) => warnings.push(message) });
    try {
      const topic = await freshTopic(log);
      await log.append([record(topic, 'k', 'waited for')]);
      const reader = await watch(log, [topic]);
      await until('two searches failed', () => warnings.filter((text) => /GroupCoordinatorNotFound/.test(text)).length > 1);
      await server.kill();
      server = await startKafka({ folder: own, port: server.port });
      await until('the record was read', () => reader.texts().length > 0);
      expect(reader.failure.error).toBeUndefined();
      expect(reader.texts()).toEqual(['waited for']);
    } finally {
      await log.close();
      await server.kill();
      await rm(own, { recursive: true, force: true });
    }
  });

  test('an address without a listener is refused by name within 10 s', async () => {
    const { port, server } = await listen();
    server.close();
    await once(server, 'close');
    await expectUnreachable(`127.0.0.1:${port}`);
  });

  test('an address whose listener never answers is refused by name within 10 s', async () => {
    const { port, server, sockets } = await listen();
    try {
      await expectUnreachable(`127.0.0.1:${port}`);
    } finally {
      server.close();
      for (const socket of sockets) socket.destroy();
    }
  });
});

async function expectUnreachable(address: string): Promise<void> {
  await expect(openKafkaLog({ brokers: [address], clientId: 'outage' })).rejects.toMatchObject({
    name: 'LogError',
    code: 'unreachable',
    retryable: true,
    message: expect.stringContaining(address),
  });
}

async function listen(): Promise<{ port: number; server: Server; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, sockets, port: (server.address() as AddressInfo).port }; // a TCP server's address is never a pipe's name
}
