import { expect, test } from '@jest/globals';
import { type FetchedBatch, sliceBatch } from './kafka-log-slices.ts';

function fetched(fetchedOffset: number, offsets: readonly number[], last: number): FetchedBatch {
  const messages = offsets.map((offset) => ({
    offset: String(offset),
    key: Buffer.from(`k${offset}`),
    value: Buffer.from(`v${offset}`),
    timestamp: '1700000000000',
  }));
  return { topic: 't', partition: 2, fetchedOffset: String(fetchedOffset), messages, lastOffset: () => String(last) };
}

function shape(batch: FetchedBatch, limit: number): unknown[] {
  return [...sliceBatch(batch, limit)].map(({ from, next, records }) => ({ from, next, offsets: records.map((r) => r.offset) }));
}

test('a fetch is divided into consecutive batches', () => {
  expect(shape(fetched(3, [3, 4, 5, 6, 7], 7), 2)).toEqual([
    { from: 3, next: 5, offsets: [3, 4] },
    { from: 5, next: 7, offsets: [5, 6] },
    { from: 7, next: 8, offsets: [7] },
  ]);
});

test('control records and gaps pass with the batch before them', () => {
  expect(shape(fetched(0, [0, 1, 5, 8], 11), 2)).toEqual([
    { from: 0, next: 5, offsets: [0, 1] },
    { from: 5, next: 12, offsets: [5, 8] },
  ]);
});

test('the first batch names the requested offset, so that a reader notices what the log has deleted', () => {
  expect(shape(fetched(10, [12], 12), 2)).toEqual([{ from: 10, next: 13, offsets: [12] }]);
});

test('a fetch without records yields no batch', () => {
  expect(shape(fetched(4, [], 6), 2)).toEqual([]);
});

test('a record without key or value, as a foreign producer may write it, is read', () => {
  const batch = { ...fetched(0, [], 0), messages: [{ offset: '0', key: null, value: null, timestamp: '5' }] };
  expect([...sliceBatch(batch, 5)][0]?.records).toEqual([{ offset: 0, receivedAt: null, key: null, value: new Uint8Array(0) }]);
});

test('a record has the time at which the broker took it, and none where its producer chose the time', () => {
  const [message] = fetched(0, [0], 0).messages;
  const at = (timestampType: number) => ({
    ...fetched(0, [0], 0),
    messages: message ? [{ ...message, batchContext: { timestampType } }] : [],
  });
  const times = [at(0), at(1)].map((batch) => [...sliceBatch(batch, 5)][0]?.records[0]?.receivedAt);
  expect(times).toEqual([null, 1_700_000_000_000]);
});
