import { expect, test } from '@jest/globals';
import { type EventLogFixture, fresh, freshTopic, numbered, record } from './fixture.ts';
import { done, gate, until, watch } from './watch.ts';

/** What happens at the end: of a subscription, of a client, of the server. */
export function describeClosing(fixture: () => EventLogFixture): void {
  const { log, second } = { log: () => fixture().log, second: () => fixture().second() };

  test('close waits for the running handler and records its answer', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 3));
    const order: string[] = [];
    const working = gate();
    const reader = await watch(log(), [topic], {
      batchLimit: 2,
      async handle(batch) {
        await working.opened;
        order.push('answered');
        return done(batch);
      },
    });
    await until('the handler is at work', () => reader.batches.length === 1);
    const closed = reader.close().then(() => order.push('closed'));
    const finished = reader.subscription.finished.then(() => order.push('finished'));
    await log().ends([topic]); // a round trip to the server: time enough for a close that does not wait
    expect(order).toEqual([]);
    working.open();
    await Promise.all([closed, finished]);
    expect(order[0]).toBe('answered');
    expect(order.slice(1).sort()).toEqual(['closed', 'finished']);
    expect(reader.texts()).toEqual(['k#0', 'k#1']); // it stopped after the batch in flight
    const next = await watch(log(), [topic], { group: reader.group });
    await until('the rest was read', () => next.texts().at(-1) === 'k#2');
    await next.close();
    expect(next.texts()).toEqual(['k#2']);
  });

  test('close notifies the handler by its signal, and abandoned work is delivered again', async () => {
    const topic = await freshTopic(log());
    await log().append(numbered(topic, 3));
    const reader = await watch(log(), [topic], {
      handle: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
    await until('the handler is at work', () => reader.batches.length === 1);
    await reader.close();
    await expect(reader.subscription.finished).resolves.toBeUndefined();
    const next = await watch(log(), [topic], { group: reader.group });
    await until('the records came again', () => next.records().length === 3);
    await next.close();
    expect(next.texts()).toEqual(['k#0', 'k#1', 'k#2']);
  });

  test('a second close does nothing, also after a throw', async () => {
    const topic = await freshTopic(log());
    const reader = await watch(log(), [topic], { handle: () => Promise.reject(new Error('a bug')) });
    await log().append(numbered(topic, 1));
    await expect(reader.subscription.finished).rejects.toThrow('a bug');
    await reader.close();
    await reader.close();
    expect(reader.batches).toHaveLength(1); // and nothing was handed over after the throw
  });

  test('a closed client has made accepted records durable, and refuses further ones', async () => {
    const topic = await freshTopic(log());
    const client = await second();
    const accepted = client.append(numbered(topic, 100));
    await client.close();
    expect(await accepted).toHaveLength(100);
    expect((await log().ends([topic])).get(topic)).toEqual(new Map([[0, 100]]));
    const refusal = { name: 'LogError', code: 'closed' };
    await expect(client.append([record(topic, 'k')])).rejects.toMatchObject(refusal);
    await expect(client.subscribe({ group: fresh('group'), topics: [topic], handle: done })).rejects.toMatchObject(refusal);
    await expect(client.ends([topic])).rejects.toMatchObject(refusal);
    await client.close();
  });

  test('an unrecoverable client error rejects `finished` as fatal, so that a supervisor sees it', async () => {
    const topic = await freshTopic(log());
    const reader = await watch(log(), [topic]);
    await log().append(numbered(topic, 1));
    await until('the subscription works', () => reader.records().length === 1);
    const undo = await fixture().breakFatally(topic);
    try {
      await until('finished rejected', () => reader.failure.error !== undefined);
      expect(reader.failure.error).toMatchObject({ name: 'LogError', code: 'fatal', retryable: false });
    } finally {
      await undo();
    }
    await reader.close();
  });
}
