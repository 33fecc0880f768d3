import { expect, test } from '@jest/globals';
import { type LogRecord, RECORD_LIMIT } from '../event-log.ts';
import { type EventLogFixture, fresh, freshTopic, numbered, record } from './fixture.ts';
import { ofKey, readAll, until, watch } from './watch.ts';

const CLOCKS_APART_MS = 1_000; // the log's server is on this machine

/** What `append`, `ends` and `ensureTopics` promise. */
export function describeAppending(fixture: () => EventLogFixture, codecs: readonly string[]): void {
  const { log, second } = { log: () => fixture().log, second: () => fixture().second() };

  test('records of one key keep the order of the append calls, although no call is awaited', async () => {
    const topic = await freshTopic(log(), 3);
    const keys = ['a', 'b', 'c', 'd'];
    const calls = numbered(topic, 200, keys).map((one) => log().append([one]));
    await Promise.all(calls);
    const records = await readAll(log(), topic, 200);
    for (const key of keys) {
      expect(ofKey(records, key)).toEqual(numbered(topic, 200, keys).flatMap((r) => (r.key === key ? [text(r)] : [])));
    }
  });

  test('one append of many records keeps their order', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 3_000));
    expect((await readAll(log(), topic, 3_000)).map((r) => r.text)).toEqual(numbered(topic, 3_000).map(text));
  });

  test('the headers of the spans that appended records come with their batches, each once, and change no record', async () => {
    const topic = await freshTopic(log(), 2);
    const keys = ['a', 'b', 'c', 'd'];
    const sent = numbered(topic, 105, keys);
    const traced = (from: number, to: number, traceparent: string) =>
      sent.slice(from, to).map((one) => ({ ...one, traceparent }));
    await log().append([...traced(0, 50, '00-1'), ...traced(50, 100, '00-2')]);
    await log().append(sent.slice(100, 104));
    await log().append(traced(104, 105, '00-3'));
    const reading = await watch(log(), [topic], { traced: true });
    await until('all records are read', () => reading.records().length === sent.length);
    const headers = reading.batches.flatMap(({ traceparents = [] }) => traceparents);
    expect(new Set(headers)).toEqual(new Set(['00-1', '00-2', '00-3']));
    for (const { traceparents = [] } of reading.batches) expect(traceparents).toEqual([...new Set(traceparents)]);
    for (const key of keys) expect(ofKey(reading.records(), key)).toEqual(sent.flatMap((r) => (r.key === key ? [text(r)] : [])));
    await reading.close();
  });

  test('records say when the log took them, which never lies before the record before them, whoever appends', async () => {
    const topic = await freshTopic(log());
    const other = await second();
    const began = Date.now();
    try {
      for (let i = 0; i < 20; i++) await (i % 2 === 0 ? log() : other).append(numbered(topic, 3));
    } finally {
      await other.close();
    }
    const times = (await readAll(log(), topic, 60)).map(({ receivedAt }) => receivedAt ?? 0);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(began - CLOCKS_APART_MS);
    expect(times.at(-1)).toBeLessThanOrEqual(Date.now() + CLOCKS_APART_MS);
  });

  test('concurrent appends of several clients are each delivered exactly once', async () => {
    const topic = await freshTopic(log(), 2);
    const others = await Promise.all([second(), second()]);
    try {
      const clients = [log(), ...others];
      await Promise.all(
        clients.flatMap((client, c) =>
          Array.from({ length: 40 }, (_, i) => client.append([record(topic, `key-${i % 7}`, `${c}/${i}`)])),
        ),
      );
      const texts = (await readAll(log(), topic, 120)).map((r) => r.text);
      const expected = clients.flatMap((_, c) => Array.from({ length: 40 }, (_, i) => `${c}/${i}`));
      expect(texts.sort()).toEqual(expected.sort());
    } finally {
      await Promise.all(others.map((client) => client.close()));
    }
  });

  test('a record can be read by another client once its append has resolved', async () => {
    const topic = await freshTopic(log());
    const other = await second();
    try {
      await log().append([record(topic, 'k', 'durable')]);
      expect((await other.ends([topic])).get(topic)).toEqual(new Map([[0, 1]]));
      expect((await readAll(other, topic, 1)).map((r) => r.text)).toEqual(['durable']);
    } finally {
      await other.close();
    }
  });

  test('each receipt names the place of its record, and a key keeps its partition', async () => {
    const topics = [await freshTopic(log(), 4), await freshTopic(log(), 3)] as const;
    const records = Array.from({ length: 60 }, (_, i) => record(i % 3 === 0 ? topics[0] : topics[1], `key-${i % 11}`, `v${i}`));
    const receipts = (await Promise.all([log().append(records.slice(0, 25)), log().append(records.slice(25))])).flat();
    const stored = [...(await readAll(log(), topics[0], 20)), ...(await readAll(log(), topics[1], 40))];
    const placed = new Map(stored.map((r) => [`${r.topic}/${r.partition}/${r.offset}`, `${r.key}=${r.text}`]));
    expect(receipts).toHaveLength(60);
    for (const [i, { topic, partition, offset }] of receipts.entries()) {
      expect(placed.get(`${topic}/${partition}/${offset}`)).toBe(`key-${i % 11}=v${i}`);
    }
    const partitionOf = new Map<string, number>();
    for (const { topic, key, partition } of stored) {
      expect(partitionOf.get(`${topic} ${key}`) ?? partition).toBe(partition);
      partitionOf.set(`${topic} ${key}`, partition);
    }
  });

  test('a record that names its partition lies there, behind the earlier records of its key', async () => {
    const topic = await freshTopic(log(), 3);
    const named = [2, 0, 1, 2].map((partition, i) => ({ ...record(topic, 'one key', `v${i}`), partition }));
    const receipts = await log().append(named);
    expect(receipts.map(({ partition, offset }) => [partition, offset])).toEqual([
      [2, 0],
      [0, 0],
      [1, 0],
      [2, 1],
    ]);
    const stored = await readAll(log(), topic, 4);
    expect(stored.map(({ partition, text: value }) => `${partition} ${value}`).sort()).toEqual(['0 v1', '1 v2', '2 v0', '2 v3']);
  });

  test.each([-1, 3, 0.5])(
    'an append to partition %s of three is refused whole with a RangeError, and concurrent ones succeed',
    async (partition) => {
      const topic = await freshTopic(log(), 3);
      const accepted = log().append([record(topic, 'k', 'alongside')]);
      const bad = log().append([record(topic, 'k', 'good'), { ...record(topic, 'k', 'v'), partition }]);
      await expect(bad).rejects.toBeInstanceOf(RangeError);
      await accepted;
      expect((await readAll(log(), topic, 1)).map((r) => r.text)).toEqual(['alongside']);
    },
  );

  test('an empty value and a value of 1 MiB are read back byte for byte', async () => {
    const topic = await freshTopic(log());
    const large = Uint8Array.from({ length: 1024 * 1024 }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
    await log().append([record(topic, 'k'), record(topic, 'k', large), record(topic, 'ключ 🌳', 'after')]);
    const records = await readAll(log(), topic, 3);
    expect(records.map((r) => r.key)).toEqual(['k', 'k', 'ключ 🌳']);
    expect(records.map((r) => r.value.byteLength)).toEqual([0, large.byteLength, 5]);
    expect(Buffer.compare(records[1]?.value ?? new Uint8Array(), large)).toBe(0);
  });

  test('a record at the limit is accepted; one byte more is refused as too large, with its whole append', async () => {
    const topic = await freshTopic(log());
    await log().append([record(topic, 'k', new Uint8Array(RECORD_LIMIT - 1))]);
    const refused = log().append([record(topic, 'k', 'small'), record(topic, 'k', new Uint8Array(RECORD_LIMIT))]);
    await expect(refused).rejects.toMatchObject({ name: 'LogError', code: 'too-large', retryable: false });
    expect((await log().ends([topic])).get(topic)).toEqual(new Map([[0, 1]]));
  });

  test.each([
    ['empty', ''],
    ['null', null],
  ])('an append with an %s key is refused whole with a RangeError', async (_, key) => {
    const topic = await freshTopic(log());
    const bad = { ...record(topic, 'k', 'v'), key } as LogRecord; // null is what a caller without types may send
    await expect(log().append([record(topic, 'k', 'good'), bad])).rejects.toBeInstanceOf(RangeError);
    expect((await log().ends([topic])).get(topic)).toEqual(new Map([[0, 0]]));
  });

  test('an append of nothing resolves to no receipts', async () => {
    expect(await log().append([])).toEqual([]);
  });

  test('append, ends and subscribe refuse an unknown topic by name, append as a whole', async () => {
    const topic = await freshTopic(log());
    const unknown = fresh('unknown');
    const refusal = { name: 'LogError', code: 'unknown-topic', message: expect.stringContaining(unknown) };
    await expect(log().append([record(topic, 'k'), record(unknown, 'k')])).rejects.toMatchObject(refusal);
    await expect(log().ends([topic, unknown])).rejects.toMatchObject(refusal);
    const handle = async () => ({ kind: 'done', next: 0 }) as const;
    await expect(log().subscribe({ group: fresh('group'), topics: [unknown], handle })).rejects.toMatchObject(refusal);
    expect((await log().ends([topic])).get(topic)).toEqual(new Map([[0, 0]]));
  });

  test('the ends grow by what is appended, partition by partition', async () => {
    const topic = await freshTopic(log(), 4);
    const zero = [0, 1, 2, 3].map((partition) => [partition, 0] as const);
    expect((await log().ends([topic])).get(topic)).toEqual(new Map(zero));
    const receipts = await log().append(numbered(topic, 50, ['a', 'b', 'c', 'd', 'e', 'f', 'g']));
    const counts = new Map<number, number>(zero);
    for (const { partition } of receipts) counts.set(partition, (counts.get(partition) ?? 0) + 1);
    expect((await log().ends([topic])).get(topic)).toEqual(counts);
  });

  test('the extents name the first and the next offset of every partition, and leave out topics that do not exist', async () => {
    const topic = await freshTopic(log(), 3);
    const receipts = await log().append(numbered(topic, 20, ['a', 'b', 'c', 'd']));
    const count = (partition: number) => receipts.filter((receipt) => receipt.partition === partition).length;
    const extents = await log().extents([topic, fresh('unknown')]);
    expect([...extents]).toEqual([[topic, new Map([0, 1, 2].map((p) => [p, { first: 0, next: count(p) }]))]]);
  });

  test('topics are created once, although several clients request them concurrently and repeatedly', async () => {
    const other = await second();
    try {
      const topics = [fresh('topic'), fresh('topic')];
      await Promise.all([log().ensureTopics(topics, 3), other.ensureTopics(topics, 3)]);
      await log().ensureTopics([...topics, fresh('topic')], 3);
      for (const topic of topics) expect((await log().ends([topic])).get(topic)?.size).toBe(3);
    } finally {
      await other.close();
    }
  });

  for (const codec of codecs) {
    test(`records that the server keeps in ${codec} are read`, async () => {
      const topic = await freshTopic(log());
      const large = new Uint8Array(300_000).map((_, i) => (i % 251) ^ (i >> 10));
      await fixture().appendWith?.(codec, [...numbered(topic, 500), record(topic, 'k', large), record(topic, 'k')]);
      const records = await readAll(log(), topic, 502);
      expect(records.slice(0, 500).map((r) => r.text)).toEqual(numbered(topic, 500).map(text));
      expect(Buffer.compare(records[500]?.value ?? new Uint8Array(), large)).toBe(0);
      expect(records[501]?.value.byteLength).toBe(0);
    });
  }
}

function text({ value }: LogRecord): string {
  return new TextDecoder().decode(value);
}
