import { expect, test } from '@jest/globals';
import type { BatchAnswer } from '../event-log.ts';
import { type EventLogFixture, fresh, freshTopic, numbered, numberedTexts } from './fixture.ts';
import { done, until, watch } from './watch.ts';

/** What a subscription promises its handler. */
export function describeDelivering(fixture: () => EventLogFixture): void {
  const { log, second } = { log: () => fixture().log, second: () => fixture().second() };

  test('a batch is a run of one partition in offset order within the limit, and continues where the previous one ended', async () => {
    const topic = await freshTopic(log(), 2);
    await log().append(numbered(topic, 250, ['a', 'b', 'c', 'd', 'e']));
    const reader = await watch(log(), [topic], { batchLimit: 40 });
    await until('all was read', () => reader.records().length === 250);
    await reader.close();
    const next = new Map([0, 1].map((partition) => [partition, 0]));
    for (const batch of reader.batches) {
      expect(batch.topic).toBe(topic);
      expect(batch.records.length).toBeGreaterThan(0);
      expect(batch.records.length).toBeLessThanOrEqual(40);
      const first = next.get(batch.partition) ?? 0;
      expect(batch.records.map((r) => r.offset)).toEqual(batch.records.map((_, i) => first + i));
      expect(batch.from).toBe(first);
      expect(batch.next).toBe(first + batch.records.length);
      next.set(batch.partition, batch.next);
    }
    expect(next).toEqual((await log().ends([topic])).get(topic));
  });

  test('records appended during a subscription are delivered from every subscribed topic', async () => {
    const topics = [await freshTopic(log()), await freshTopic(log(), 2)] as const;
    const reader = await watch(log(), topics);
    await log().append(numbered(topics[0], 3));
    await log().append(numbered(topics[1], 4, ['x', 'y']));
    await until('both topics were read', () => reader.records().length === 7);
    await reader.close();
    const texts = (topic: string) => reader.records().flatMap((r) => (r.topic === topic ? [r.text] : []));
    expect(texts(topics[0])).toEqual(['k#0', 'k#1', 'k#2']);
    expect(texts(topics[1]).sort()).toEqual(['x#0', 'x#2', 'y#1', 'y#3']);
  });

  test('a reader that takes deliveries together gets nothing while some is in flight, then at once what came meanwhile of all partitions', async () => {
    const topic = await freshTopic(log(), 4);
    const gate = new AbortController();
    const opened = new Promise((resolve) => gate.signal.addEventListener('abort', resolve));
    const together = await watch(log(), [topic], {
      together: true,
      async handle(batch) {
        await opened;
        return { kind: 'done', next: batch.next };
      },
    });
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await log().append(numbered(topic, 1, keys));
    await until('the first was delivered', () => together.records().length === 1);
    const others = await watch(log(), [topic]);
    await log().append(numbered(topic, 40, keys, 1));
    await until('another group read all', () => others.records().length === 41);
    expect(together.records()).toHaveLength(1);
    gate.abort();
    await until('the rest was delivered', () => together.records().length === 41);
    const partitions = new Set(others.records().map(({ partition }) => partition));
    expect(together.batches).toHaveLength(1 + partitions.size);
    await Promise.all([together.close(), others.close()]);
  });

  test('every group receives all records, and a new group begins at the first', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 5));
    const early = await watch(log(), [topic]);
    await until('the early group read', () => early.records().length === 5);
    const late = await watch(log(), [topic]);
    await until('the late group read', () => late.records().length === 5);
    await Promise.all([early.close(), late.close()]);
    expect(late.texts()).toEqual(early.texts());
  });

  test('a record answered as done is not delivered again after a close', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 5));
    const before = await watch(log(), [topic]);
    await until('the first five were read', () => before.records().length === 5);
    await before.close();
    await log().append(numbered(topic, 2, ['k'], 5));
    const after = await watch(log(), [topic], { group: before.group });
    await until('the rest was read', () => after.records().length === 2);
    await after.close();
    expect(after.texts()).toEqual(['k#5', 'k#6']);
  });

  test('a throw of the handler rejects `finished`, and a new member receives the same records again', async () => {
    const topic = await freshTopic(log());
    const bug = new Error('a bug in the handler');
    await log().append(numbered(topic, 10));
    const crashed = await watch(log(), [topic], {
      batchLimit: 4,
      async handle(batch) {
        if (batch.next > 4) throw bug;
        return { kind: 'done', next: batch.next };
      },
    });
    await expect(crashed.subscription.finished).rejects.toBe(bug);
    await crashed.close();
    expect(crashed.texts()).toEqual(numberedTexts(0, 8));
    const other = await second();
    try {
      const after = await watch(other, [topic], { group: crashed.group });
      await until('the rest was read', () => after.records().length === 6);
      await after.close();
      expect(after.texts()).toEqual(numberedTexts(4, 10));
    } finally {
      await other.close();
    }
  });

  test('a rewind delivers the records again from exactly that offset', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 20));
    let rewound = false;
    const reader = await watch(log(), [topic], {
      batchLimit: 5,
      async handle(batch): Promise<BatchAnswer> {
        if (rewound || batch.next < 15) return done(batch);
        rewound = true;
        return { kind: 'rewind', to: 3 };
      },
    });
    await until('the end was read again', () => reader.texts().at(-1) === 'k#19');
    await reader.close();
    expect(reader.texts()).toEqual([...numberedTexts(0, 15), ...numberedTexts(3, 20)]);
  });

  test('a rewind outlives the member that requested it', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 6));
    const before = await watch(log(), [topic]);
    await until('all was read', () => before.records().length === 6);
    await before.close();
    await log().append(numbered(topic, 1, ['k'], 6));
    let answered = false;
    const rewinding = await watch(log(), [topic], {
      group: before.group,
      async handle(batch): Promise<BatchAnswer> {
        if (answered) throw new Error('killed before it was done');
        answered = true;
        expect(batch.records.map((r) => r.offset)).toEqual([6]);
        return { kind: 'rewind', to: 2 };
      },
    });
    await expect(rewinding.subscription.finished).rejects.toThrow('killed before it was done');
    const after = await watch(log(), [topic], { group: before.group });
    await until('all was read again', () => after.texts().at(-1) === 'k#6');
    await after.close();
    expect(after.texts()).toEqual(numberedTexts(2, 7));
  });

  test('the rest of a batch is delivered again when only a part was answered as done', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 6));
    const group = fresh('group');
    const reader = await watch(log(), [topic], {
      group,
      handle: async ({ records }) => ({ kind: 'done', next: (records[0]?.offset ?? 0) + 2 }),
      batchLimit: 4,
    });
    await until('the last was the first of a batch or behind it', () => reader.batches.at(-1)?.records[0]?.offset === 4);
    await reader.close();
    expect(reader.batches.map((batch) => batch.records.map((r) => r.offset))).toEqual([
      [0, 1, 2, 3],
      [2, 3, 4, 5],
      [4, 5],
    ]);
  });
}
