import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AppendQueue, type QueuedRecord } from './append-queue.ts';
import { LogError, type LogRecord, RecordTooLarge } from './event-log.ts';

const MIB = 1024 * 1024;

test('every append is answered with the places of its own records, in the order of the calls', async () => {
  const appends = fc.array(fc.array(fc.tuple(fc.constantFrom('t', 'u'), fc.constantFrom('a', 'b', 'c')), { maxLength: 20 }), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(appends, fc.infiniteStream(fc.nat(3)), async (calls, delays) => {
      const log = new Map<string, string[]>();
      const queue = queueOver(log, () => turns(delays.next().value));
      let n = 0;
      const records = calls.map((call) => call.map(([topic, key]) => record(topic, key, `${n++}`)));
      const receipts = await Promise.all(records.map((some) => queue.append(some)));
      for (const [i, some] of records.entries()) {
        const found = receipts[i]?.map(({ topic, partition, offset }) => log.get(`${topic}/${partition}`)?.[offset]);
        expect(found).toEqual(some.map(textOf));
      }
      for (const stored of log.values()) expect(stored.map(Number)).toEqual(stored.map(Number).sort((a, b) => a - b));
      expect([...log.values()].flat()).toHaveLength(n);
    }),
  );
});

test('one send is in flight at a time, and the next takes everything queued behind it', async () => {
  const sends: string[][] = [];
  let inFlight = 0;
  const queue = new AppendQueue({
    place,
    async send(records) {
      expect(++inFlight).toBe(1);
      sends.push(records.map(({ record }) => textOf(record)));
      await turns(5);
      inFlight--;
      return records.map((_, i) => i);
    },
  });
  const first = queue.append([record('t', 'a', '0')]);
  await turns(4); // the first send is on its way
  await Promise.all([first, ...['1', '2', '3'].map((value) => queue.append([record('t', 'a', value)]))]);
  expect(sends).toEqual([['0'], ['1', '2', '3']]);
});

test('no send brings a partition above the default limit of a broker, unless a single record is larger', async () => {
  const sends: number[] = [];
  const queue = new AppendQueue({
    place,
    async send(records) {
      sends.push(records.length);
      const bytes = records.reduce((sum, { record }) => sum + record.value.byteLength, 0);
      expect(bytes <= MIB || records.length === 1).toBe(true);
      return records.map((_, i) => i);
    },
  });
  const sizes = [0.4, 0.4, 0.4, 1.5, 0.1, 0.1].map((part) => part * MIB);
  await queue.append(sizes.map((size) => ({ topic: 't', key: 'a', value: new Uint8Array(size) })));
  expect(sends).toEqual([2, 1, 1, 2]);
});

test('appends queued behind a failed send fail with it, and later ones succeed', async () => {
  const failure = new Error('the broker is gone');
  let broken = true;
  const queue = new AppendQueue({
    place,
    async send(records) {
      await turns(1);
      if (broken) throw failure;
      return records.map((_, i) => i);
    },
  });
  const results = await Promise.allSettled([queue.append([record('t', 'a')]), queue.append([record('t', 'a')])]);
  expect(results).toEqual([failure, failure].map((reason) => ({ status: 'rejected', reason })));
  broken = false;
  await expect(queue.append([record('t', 'a')])).resolves.toEqual([{ topic: 't', partition: 0, offset: 0 }]);
});

test('an append that cannot be placed is refused alone', async () => {
  const log = new Map<string, string[]>();
  const queue = queueOver(log, async () => undefined);
  const results = await Promise.allSettled([
    queue.append([record('t', 'a', 'before')]),
    queue.append([record('t', 'a', 'lost'), record('unknown', 'a', 'lost')]),
    queue.append([record('t', 'a', 'after')]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect([...log.values()]).toEqual([['before', 'after']]);
});

test('close waits for accepted appends and refuses further ones', async () => {
  const log = new Map<string, string[]>();
  const queue = queueOver(log, () => turns(3));
  const accepted = queue.append([record('t', 'a', 'accepted')]);
  const closed = queue.close();
  await expect(queue.append([record('t', 'a', 'late')])).rejects.toMatchObject({ code: 'closed' });
  await closed;
  expect([...log.values()]).toEqual([['accepted']]);
  await expect(accepted).resolves.toHaveLength(1);
});

test('a record that the broker refuses as too large fails its own append, which names what of it is durable, and no other', async () => {
  const log = new Map<string, string[]>();
  const queue = queueOver(
    log,
    async () => undefined,
    (text) => text === 'large',
  );
  const results = await Promise.allSettled([
    queue.append([record('t', 'a', '0')]),
    queue.append(['1', '2', 'large', '3'].map((text) => record('t', 'a', text))),
    queue.append([record('t', 'a', '4'), record('t', 'b', '5')]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: { name: 'LogError', code: 'too-large', appended: 2 } });
  expect([...log]).toEqual([
    ['t/0', ['0', '1', '2', '4']],
    ['t/1', ['5']],
  ]);
});

/** A queue over logs in memory that give offsets as a broker does. */
function queueOver(
  log: Map<string, string[]>,
  delay: () => Promise<void>,
  isTooLarge: (text: string) => boolean = () => false,
): AppendQueue {
  return new AppendQueue({
    async place(records) {
      await delay();
      return place(records);
    },
    async send(records) {
      await delay();
      if (records.some((each) => isTooLarge(textOf(each.record)))) throw new RecordTooLarge('too large', { limit: null });
      return records.map(({ record, partition }) => {
        const stored = log.get(`${record.topic}/${partition}`) ?? [];
        log.set(`${record.topic}/${partition}`, stored);
        return stored.push(textOf(record)) - 1;
      });
    },
  });
}

async function place(records: readonly LogRecord[]): Promise<QueuedRecord[]> {
  return records.map((one) => {
    if (one.topic === 'unknown') throw new LogError('unknown-topic', 'unknown');
    return { record: one, partition: one.key === 'b' ? 1 : 0 };
  });
}

function record(topic: string, key: string, text = ''): LogRecord {
  return { topic, key, value: new TextEncoder().encode(text) };
}

function textOf({ value }: LogRecord): string {
  return new TextDecoder().decode(value);
}

/** Lets the other promises go on for some turns. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
