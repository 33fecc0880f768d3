import { randomBytes } from 'node:crypto';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { freshTopic, record } from './contract/fixture.ts';
import { readAll } from './contract/watch.ts';
import type { EventLog, LogRecord } from './event-log.ts';
import { openKafkaLog } from './kafka-log.ts';
import { configureTopic } from './kafka-log-testing.ts';

const LIMIT = 16 * 1024;
const TOO_LARGE = { name: 'LogError', code: 'too-large', retryable: false };

describeWithKafka('a topic with a small limit', () => {
  let brokers: readonly string[];
  const opened: EventLog[] = [];
  beforeAll(async () => {
    ({ brokers } = await kafkaForTests());
  });
  afterEach(async () => {
    for (const log of opened.splice(0)) await log.close();
  });
  const open = async (compression: 'none' | 'gzip' = 'none') => {
    const log = await openKafkaLog({ brokers, clientId: 'limits', compression });
    opened.push(log);
    return log;
  };
  const shrink = (topic: string) => configureTopic(brokers, topic, { 'max.message.bytes': String(LIMIT) });
  const random = (topic: string, bytes: number): LogRecord => record(topic, 'k', randomBytes(bytes));

  test('a record that is over the limit fails its own append whole, and those next to it succeed', async () => {
    const topic = await freshTopic(await open());
    await shrink(topic);
    const log = await open();
    const [small, large, other] = await Promise.allSettled([
      log.append([record(topic, 'k', 'small')]),
      log.append([record(topic, 'k', 'with it'), random(topic, 2 * LIMIT)]),
      log.append([record(topic, 'k', 'other')]),
    ]);
    expect([small.status, other.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(large).toMatchObject({ reason: { ...TOO_LARGE, limit: LIMIT, appended: 0 } });
    expect((await readAll(log, topic, 2)).map(({ text }) => text)).toEqual(['small', 'other']);
  });

  test('small records that together are over the limit are appended', async () => {
    const topic = await freshTopic(await open());
    await shrink(topic);
    const log = await open();
    expect(await log.append(Array.from({ length: 40 }, () => random(topic, 1_000)))).toHaveLength(40);
  });

  test('a record that fits when it is compressed is appended', async () => {
    const topic = await freshTopic(await open());
    await shrink(topic);
    const log = await open('gzip');
    expect(await log.append([record(topic, 'k', 'a'.repeat(4 * LIMIT))])).toHaveLength(1);
    await expect(log.append([random(topic, 2 * LIMIT)])).rejects.toMatchObject({ ...TOO_LARGE, limit: LIMIT });
  });

  test('a limit that was lowered since the start fails the append of the large record alone, with what of it is durable', async () => {
    const log = await open();
    const topic = await freshTopic(log);
    await log.append([record(topic, 'k', 'first')]);
    await shrink(topic);
    const [small, large, other] = await Promise.allSettled([
      log.append([record(topic, 'k', 'small')]),
      log.append([record(topic, 'k', 'before'), random(topic, 2 * LIMIT), record(topic, 'k', 'after')]),
      log.append([record(topic, 'k', 'other')]),
    ]);
    expect([small.status, other.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(large).toMatchObject({ reason: { ...TOO_LARGE, appended: 1 } });
    const texts = (await readAll(log, topic, 4)).map(({ text }) => text);
    expect(texts).toEqual(['first', 'small', 'before', 'other']);
  });
});
