import { describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../append/prepare-events.ts';
import { decode } from '../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../events/envelope.ts';
import { KEY_BYTES, streamKey } from '../events/seal.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import type { EventLog, LogRecord } from './event-log.ts';
import { sealingLog } from './sealing-log.ts';

/** A log that keeps what it is given, sealing by rules and keys that a test watches. */
function world({ rules = new Map<string, boolean>(), otherwise = true, fail = [] as unknown[] } = {}) {
  const records: LogRecord[] = [];
  const asked: (readonly string[])[] = [];
  const clock = { ms: 0, rulesRead: 0 };
  const inner: Pick<EventLog, 'append' | 'close'> = {
    append: async (added) => added.map((record) => ({ topic: record.topic, partition: 0, offset: records.push(record) - 1 })),
    close: async () => undefined,
  };
  const log = sealingLog(
    inner as EventLog, // a sealing log calls nothing else here
    {
      async keysOf(streams) {
        asked.push(streams);
        const fault = fail.shift();
        if (fault) throw fault;
        return new Map(streams.map((stream) => [stream, streamKey(stream, Buffer.alloc(KEY_BYTES, 1))]));
      },
      async rules() {
        clock.rulesRead++;
        return new Map(rules);
      },
      otherwise,
    },
    () => clock.ms,
  );
  const events = () =>
    records.map(({ value }) => decode(value)).flatMap((found) => (found.kind === 'event' ? [found.event] : []));
  return { log, records, asked, clock, events };
}

const prepared = (events: readonly Envelope[], project = 'default') =>
  prepareEvents(events, new MemoryBlobs(), { ...DEFAULT_STAMP, project });

function steps(name: string, count: number): readonly Envelope[] {
  const builder = new EventBuilder(name);
  const tree = builder.tree(builder.run(name));
  for (let i = 0; i < count; i++) builder.step(tree, null, tree.rootStepId, 1, { observation: `secret ${i}` });
  return builder.events.filter(({ type }) => type === 'StepTaken');
}

describe('a sealing log', () => {
  test('it seals payload, leaves the rest, and asks for the key of a stream once', async () => {
    const { log, records, asked, events } = world();
    await log.append(await prepared(steps('a', 3)));
    await log.append(await prepared(steps('a', 2)));
    expect(asked).toHaveLength(1);
    expect(events()).toHaveLength(5);
    for (const { value } of records) expect(Buffer.from(value).toString()).not.toContain('secret');
    expect(events().every(({ sealed }) => sealed?.key === asked[0]?.[0])).toBe(true);
  });

  test('the keys that one call needs are asked for together', async () => {
    const { log, asked } = world();
    await log.append(await prepared([...steps('a', 1), ...steps('b', 1), ...steps('c', 1)]));
    expect(asked.map((streams) => streams.length)).toEqual([3]);
  });

  test('calls keep their order, also where a later one needs no key', async () => {
    const { log, events } = world();
    await log.append(await prepared(steps('known', 1)));
    const calls = ['new', 'known', 'other', 'known'].map(async (name) => ({ name, records: await prepared(steps(name, 1)) }));
    const ready = await Promise.all(calls);
    await Promise.all(ready.map(({ records }) => log.append(records)));
    expect(events().map(({ stream }) => stream)).toEqual(
      [...steps('known', 1), ...ready.flatMap(({ name }) => steps(name, 1))].map(({ stream }) => stream),
    );
  });

  test('a project that says no is not sealed, and one that says nothing follows the default of the installation', async () => {
    const { log, events, asked } = world({ rules: new Map([['open', false]]), otherwise: true });
    await log.append([...(await prepared(steps('a', 1), 'open')), ...(await prepared(steps('b', 1), 'quiet'))]);
    expect(events().map(({ sealed }) => sealed !== undefined)).toEqual([false, true]);
    expect(asked.map((streams) => streams.length)).toEqual([1]);
  });

  test('a changed rule is obeyed within ten seconds', async () => {
    const rules = new Map<string, boolean>();
    const { log, events, clock } = world({ rules, otherwise: false });
    await log.append(await prepared(steps('a', 1)));
    rules.set('default', true);
    await log.append(await prepared(steps('a', 1)));
    clock.ms = 10_000;
    await log.append(await prepared(steps('a', 1)));
    expect(events().map(({ sealed }) => sealed !== undefined)).toEqual([false, false, true]);
    expect(clock.rulesRead).toBe(2);
  });

  test('a database that is away for a moment delays an append, and a key that cannot be had fails it alone', async () => {
    const away = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' });
    const { log, events } = world({ fail: [away] });
    await log.append(await prepared(steps('a', 1)));
    expect(events()).toHaveLength(1);
    const broken = world({ fail: [new Error('another master key')] });
    const [failed, next] = [broken.log.append(await prepared(steps('a', 1))), broken.log.append(await prepared(steps('b', 1)))];
    await expect(failed).rejects.toThrow('another master key');
    await expect(next).resolves.toHaveLength(1);
  });
});
