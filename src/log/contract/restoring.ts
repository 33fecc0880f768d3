import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { EventLog, LogBatch, StoredRecord } from '../event-log.ts';
import { readRecords } from '../read-records.ts';
import { type EventLogFixture, freshTopic, numbered } from './fixture.ts';

const YEAR_2020 = 1_577_836_800_000;
const REFUSAL = { name: 'LogError', code: 'fatal', retryable: false };

/** What `restore` promises. */
export function describeRestoring(fixture: () => EventLogFixture, gaps: 'kept' | 'refused'): void {
  const log = () => fixture().log;

  test('restored records have the offsets, keys, bytes and times that they had in another log, and appends follow them', async () => {
    const topic = await freshTopic(log(), 2);
    const records = storedRecords(5, ['a', 'b']);
    await log().restore({ topic, partition: 1, from: 0, next: 3, records: records.slice(0, 3) });
    await log().restore({ topic, partition: 1, from: 3, next: 5, records: records.slice(3) });
    expect((await log().ends([topic])).get(topic)).toEqual(
      new Map([
        [0, 0],
        [1, 5],
      ]),
    );
    expect(await readPartition(log(), topic, 1)).toEqual(records);
    await log().append([{ topic, key: 'a', partition: 1, value: Buffer.from('new') }]);
    const [last] = (await readPartition(log(), topic, 1)).slice(5);
    expect(last).toMatchObject({ offset: 5, key: 'a', value: Buffer.from('new') });
    expect(last?.receivedAt).toBeGreaterThan(YEAR_2020 + 5_000);
  });

  test('more records than one request takes are restored in order', async () => {
    const topic = await freshTopic(log());
    const value = randomBytes(300_000);
    const records = storedRecords(40).map((record) => ({ ...record, value }));
    await log().restore({ topic, partition: 0, from: 0, next: 40, records });
    const restored = await readPartition(log(), topic, 0);
    expect(restored.map(({ offset, receivedAt }) => [offset, receivedAt])).toEqual(
      records.map(({ offset, receivedAt }) => [offset, receivedAt]),
    );
    expect(restored.every((record) => value.equals(record.value))).toBe(true);
  });

  test('a partition that ends elsewhere than the restored records begin is refused', async () => {
    const topic = await freshTopic(log());
    const batch: LogBatch = { topic, partition: 0, from: 0, next: 2, records: storedRecords(2) };
    await log().append(numbered(topic, 1));
    await expect(log().restore(batch)).rejects.toMatchObject(REFUSAL);
    expect((await readPartition(log(), topic, 0))[0]).toMatchObject({ offset: 0, value: Buffer.from('k#0') });
  });

  test(`offsets that the other log left empty are ${gaps}`, async () => {
    const topic = await freshTopic(log());
    const [first, , third] = storedRecords(3) as [StoredRecord, StoredRecord, StoredRecord];
    const restored = log().restore({ topic, partition: 0, from: 0, next: 5, records: [first, third] });
    if (gaps === 'refused') {
      await expect(restored).rejects.toMatchObject(REFUSAL);
      expect((await log().ends([topic])).get(topic)).toEqual(new Map([[0, 0]]));
      return;
    }
    await restored;
    await log().append(numbered(topic, 1));
    expect((await readPartition(log(), topic, 0)).map(({ offset }) => offset)).toEqual([0, 2, 5]);
  });
}

function storedRecords(count: number, keys: readonly string[] = ['k']): StoredRecord[] {
  return numbered('', count, keys).map(({ key, value }, offset) => ({
    offset,
    key,
    value: Buffer.from(value),
    receivedAt: YEAR_2020 + offset * 1_000,
  }));
}

async function readPartition(log: EventLog, topic: string, partition: number): Promise<StoredRecord[]> {
  const extents = await log.extents([topic]);
  const read: StoredRecord[] = [];
  await readRecords(log, extents, {
    name: 'contract',
    batchLimit: 100,
    signal: new AbortController().signal,
    async handle(batch) {
      if (batch.partition === partition) for (const record of batch.records) read.push(record);
    },
  });
  return read.map((record) => ({ ...record, value: Buffer.from(record.value) }));
}
