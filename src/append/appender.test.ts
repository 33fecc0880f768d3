import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openBlobStore } from '../blobs/blob-store.ts';
import { openFolderObjects } from '../blobs/folder-objects.ts';
import { contentHash, decode } from '../events/codec.ts';
import { DEFAULT_STAMP, type Envelope, stampOf } from '../events/envelope.ts';
import { pack } from '../events/packed.ts';
import { INLINE_LIMIT } from '../events/recorded-form.ts';
import type { Text } from '../events/schemas/values.ts';
import { wellFormed } from '../events/well-formed.ts';
import type { EventLog, LogRecord } from '../log/event-log.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { type Appender, type AppenderOptions, createAppender, type Draft } from './appender.ts';
import { EventRefused, prepareEvents } from './prepare-events.ts';

let folder: string;
let blobs: BlobStore;
let records: LogRecord[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-append-'));
  blobs = openBlobStore(openFolderObjects(folder));
  records = [];
});
afterEach(() => rm(folder, { recursive: true }));

/** An appender whose log keeps what it is given, in order. */
function open(options: Partial<AppenderOptions> = {}): Appender {
  const log: Pick<EventLog, 'append'> = {
    append: async (added) => added.map((record) => ({ topic: record.topic, partition: 0, offset: records.push(record) - 1 })),
  };
  return createAppender({
    log: log as EventLog, // an appender calls nothing but `append`
    blobs,
    stamp: DEFAULT_STAMP,
    producer: { name: 'tester', version: '1' },
    clock: () => Date.UTC(2026, 0, 2),
    ...options,
  });
}

function events(): readonly Envelope[] {
  return records.map(({ value }) => {
    const decoded = decode(value);
    if (decoded.kind === 'refused') throw new Error(`appended what does not decode: ${decoded.refusal.message}`);
    return decoded.event;
  });
}

const builder = new EventBuilder('append');
const runId = builder.id('run');

function metric(changes: { readonly metric?: string; readonly value?: number; readonly runId?: string } = {}): Draft {
  return { type: 'MetricRecorded', correlationId: runId, data: { runId, metric: 'loss', value: 1, at: null, ...changes } };
}

function step(changes: Partial<Extract<Draft, { type: 'StepTaken' }>['data']>): Draft {
  const recorded = new EventBuilder('step');
  const tree = recorded.tree(runId);
  recorded.step(tree, null, tree.rootStepId, 1, changes);
  const [, taken] = recorded.events;
  if (taken?.type !== 'StepTaken') throw new Error('the builder records a tree and a step');
  return { type: 'StepTaken', correlationId: runId, data: taken.data };
}

describe('an appender', () => {
  test('an appender refuses a second topic for a stream, names both, and appends nothing of the call', async () => {
    const appender = open();
    await appender.append([metric()]);
    const recorded = new EventBuilder('same id');
    const tree = recorded.tree(runId);
    const [opened] = recorded.events;
    if (opened?.type !== 'TreeOpened') throw new Error('the builder records a tree');
    const draft: Draft = { type: 'TreeOpened', correlationId: runId, data: { ...opened.data, treeId: runId } };
    await expect(appender.append([metric({ value: 2 }), draft])).rejects.toThrow(
      `TreeOpened: data.treeId is taken: the id ${runId} names a stream of topic runs, and an event of topic trees would put it in both; give runs, trees, datasets and lineages ids of their own`,
    );
    expect(events().map(({ sequence }) => sequence)).toEqual([0]);
    await appender.append([{ ...draft, data: { ...opened.data, treeId: tree.treeId } }, metric()]);
    expect(events().map(({ type, sequence }) => [type, sequence])).toEqual([
      ['MetricRecorded', 0],
      ['TreeOpened', 0],
      ['MetricRecorded', 1],
    ]);
  });
});

describe('an appended event', () => {
  test('an appended event carries its topic, key, producer, time and place in the sequence of its stream', async () => {
    const receipts = await open().append([metric(), metric({ value: 2 })]);
    expect(receipts).toHaveLength(2);
    expect(records.map(({ topic, key }) => ({ topic, key }))).toEqual([
      { topic: 'runs', key: runId },
      { topic: 'runs', key: runId },
    ]);
    expect(events()).toEqual(
      [1, 2].map((value, sequence) => ({
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        type: 'MetricRecorded',
        schemaVersion: 1,
        stream: runId,
        sequence,
        occurredAt: '2026-01-02T00:00:00.000Z',
        correlationId: runId,
        causationId: null,
        producer: { name: 'tester', version: '1' },
        ...DEFAULT_STAMP,
        data: { runId, metric: 'loss', value, at: null },
      })),
    );
  });

  test('an appended event keeps the id, the cause and the time that its draft names', async () => {
    const [id, causationId] = [builder.id('mine'), builder.id('cause')];
    await open().append([{ ...metric(), id, causationId, occurredAt: '2025-05-05T05:05:05.005Z' }]);
    expect(events()).toEqual([expect.objectContaining({ id, causationId, occurredAt: '2025-05-05T05:05:05.005Z' })]);
  });

  test('a new appender continues the sequence that its producer left', async () => {
    const asked: string[] = [];
    const appender = open({
      sequenceOf: async (stream) => {
        asked.push(stream);
        return 41;
      },
    });
    await appender.append([metric()]);
    await appender.append([metric()]);
    expect(events().map(({ sequence }) => sequence)).toEqual([41, 42]);
    expect(asked).toEqual([runId]);
  });

  test('events of concurrent calls keep the order of the calls in every stream', async () => {
    // Blobs take their time, so a later call without one could overtake.
    const appender = open();
    const other = builder.id('other run');
    const calls = Array.from({ length: 40 }, (_, i) =>
      i % 4 === 0
        ? step({ observation: `${i} `.repeat(40_000) })
        : metric({ value: i, ...(i % 2 === 0 ? { runId: other } : {}) }),
    );
    await Promise.all(calls.map((draft) => appender.append([draft])));
    expect(events().map(({ type }) => type)).toEqual(calls.map(({ type }) => type));
    for (const stream of new Set(events().map((event) => event.stream))) {
      const of = events().filter((event) => event.stream === stream);
      expect(of.map(({ sequence }) => sequence)).toEqual(of.map((_, i) => i));
    }
  });
});

describe('text that no store can hold', () => {
  test('text that no store can hold is repaired once, and the event lists the repaired paths', async () => {
    await open().append([
      step({
        response: 'a\0b',
        thought: 'fine',
        action: '\ud800 half',
        admissibleActions: ['x', 'y\udfff'],
        finishReason: 'sto\0p',
      }),
    ]);
    const [event] = events();
    expect(event?.repaired).toEqual(['data.response', 'data.action', 'data.finishReason', 'data.admissibleActions.1']);
    expect(event?.data).toMatchObject({
      response: 'a\uFFFDb',
      thought: 'fine',
      action: '\uFFFD half',
      admissibleActions: ['x', 'y\uFFFD'],
      finishReason: 'sto\uFFFDp',
    });
  });

  test('an event without repairs does not mention any', async () => {
    await open().append([step({ response: 'whole \u{1F333}' })]);
    expect(events()[0]).not.toHaveProperty('repaired');
  });
});

describe('free-form JSON', () => {
  const started = (config: unknown): Draft => ({
    type: 'RunStarted',
    correlationId: runId,
    data: {
      runId,
      experimentId: null,
      name: 'run',
      kind: 'collect',
      seed: 1,
      codeVersion: '1',
      config,
      environments: [],
      policy: null,
    },
  });
  const configOf = (event: Envelope | undefined) => (event?.type === 'RunStarted' ? event.data.config : undefined);

  test('the keys of free-form JSON are repaired as its values are, none replaces another, and the event lists the paths', async () => {
    await open().append([started(JSON.parse('{"k\\ud800":1,"k\\u0000":2,"k\\ufffd":3,"in":[{"\\udfff":"\\ud800"}]}'))]);
    const [event] = events();
    expect(configOf(event)).toEqual({ 'k\uFFFD\uFFFD': 1, 'k\uFFFD\uFFFD\uFFFD': 2, 'k\uFFFD': 3, in: [{ '\uFFFD': '\uFFFD' }] });
    expect(event?.repaired).toEqual([
      ...['k\uFFFD\uFFFD', 'k\uFFFD\uFFFD\uFFFD', 'in.0.\uFFFD', 'in.0.\uFFFD'].map((key) => `data.config.${key}`),
    ]);
  });

  test('a key __proto__ stays data, also next to repaired keys and long texts', async () => {
    const text = `{"__proto__":{"a\\u0000":1},"b":{"__proto__":5},"long":"${'x'.repeat(70_000)}"}`;
    await open().append([started(JSON.parse(text))]);
    expect(JSON.stringify(configOf(events()[0]))).toBe(text.replace('\\u0000', '\uFFFD'));
  });

  test('free-form JSON keeps long texts and values that look like a blob reference, and nothing is offloaded', async () => {
    const config = {
      prompt: 'x'.repeat(INLINE_LIMIT + 1),
      tokens: { dtype: 'int32', length: 20_000, bytes: 'A'.repeat(80_000) },
      reference: { blob: 'a'.repeat(64), size: 1, mediaType: 'text/plain' },
    };
    await open().append([started(config)]);
    expect(configOf(events()[0])).toEqual(config);
    expect(await readdir(folder)).toEqual([]);
  });

  test('any JSON whose texts can be stored is read back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (config) => {
        const { value, repaired } = wellFormed(config);
        const given: unknown = JSON.parse(JSON.stringify(value)); // −0 is written as 0
        records.length = 0;
        await open().append([started(given)]);
        const back = configOf(events()[0]);
        expect(back).toEqual(given);
        if (repaired.length === 0) expect(JSON.stringify(back)).toBe(JSON.stringify(config));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the stamp', () => {
  test('every event says who appended it and for which project', async () => {
    const stamp = { principal: 'key:7', project: 'atlas' };
    await open({ stamp }).append([metric(), step({})]);
    expect(events().map(stampOf)).toEqual([stamp, stamp]);
  });

  test('a stamp that an event brings along is replaced, and no part of what the event says', async () => {
    await open().append([metric()]);
    const [own] = events();
    if (!own) throw new Error('a metric was appended');
    const forged = { ...own, principal: 'key:root', project: 'another' };
    const [record] = await prepareEvents([forged], blobs, DEFAULT_STAMP);
    expect(JSON.parse(Buffer.from(record?.value ?? []).toString())).toMatchObject(DEFAULT_STAMP);
    expect(contentHash(forged)).toBe(contentHash(own));
  });

  test('an event of a version without stamps was appended locally, for the default project', () => {
    expect(stampOf({})).toEqual({ principal: 'local', project: 'default' });
  });
});

test('an event with more repairs than it can list lists the first ones, and long paths are truncated', async () => {
  const admissibleActions = Array.from({ length: 1_001 }, () => '\ud800');
  await open().append([step({ admissibleActions })]);
  const [event] = events();
  expect(event?.repaired).toHaveLength(1_000);
  expect(event?.type === 'StepTaken' && event.data.admissibleActions).toEqual(admissibleActions.map(() => '\uFFFD'));
});

describe('a payload over 64 KiB', () => {
  async function textOf(text: Text): Promise<string> {
    return typeof text === 'string' ? text : Buffer.from(await blobs.get(text.blob)).toString('utf8');
  }

  test('a payload over 64 KiB is stored as a blob and read back equal; one of exactly 64 KiB stays in the event', async () => {
    const long = `${'€'.repeat(INLINE_LIMIT / 3)}ab`; // one byte over, in far fewer characters
    const edge = 'x'.repeat(INLINE_LIMIT);
    await open().append([step({ observation: long, response: edge })]);
    const [event] = events();
    if (event?.type !== 'StepTaken') throw new Error('a step was appended');
    expect(event.data.response).toBe(edge);
    expect(event.data.observation).toEqual({
      blob: expect.stringMatching(/^[0-9a-f]{64}$/),
      size: Buffer.byteLength(long),
      mediaType: 'text/plain; charset=utf-8',
    });
    expect(await textOf(event.data.observation)).toBe(long);
  });

  test('a large payload of packed tokens is stored as bytes', async () => {
    const ids = Array.from({ length: 30_000 }, (_, i) => i - 15_000);
    await open().append([step({ tokens: { ids: pack('int32', ids), logProbs: null, mask: null } })]);
    const [event] = events();
    const packed = event?.type === 'StepTaken' ? event.data.tokens?.ids : undefined;
    expect(packed).toMatchObject({ dtype: 'int32', length: 30_000 });
    const bytes = packed?.bytes;
    if (typeof bytes !== 'object') throw new Error('120,000 bytes are over the limit');
    expect(bytes).toMatchObject({ size: 120_000, mediaType: 'application/octet-stream' });
    expect(Buffer.from(await blobs.get(bytes.blob)).readInt32LE(0)).toBe(-15_000);
  });

  test('a blob is durable before the event that names it', async () => {
    const failing: BlobStore = { ...blobs, put: () => Promise.reject(new Error('no space left')) };
    await expect(open({ blobs: failing }).append([metric(), step({ observation: 'x'.repeat(70_000) })])).rejects.toThrow(
      'no space left',
    );
    expect(records).toEqual([]);
  });

  test('a large payload is refused in a field that may not hold a blob', async () => {
    await expect(open().append([metric({ metric: 'x'.repeat(70_000) })])).rejects.toThrow(EventRefused);
    expect(records).toEqual([]);
  });
});

describe('a refused draft', () => {
  test('a refused draft names the field, appends nothing of its call, and leaves no gap in the sequence', async () => {
    const appender = open();
    await appender.append([metric()]);
    const refused = appender.append([metric(), metric({ metric: '' }), metric()]);
    const behind = appender.append([metric({ value: 2 })]);
    await expect(refused).rejects.toMatchObject({ name: 'EventRefused', path: 'data.metric' });
    await expect(refused).rejects.toThrow(/^MetricRecorded: data\.metric /);
    await behind;
    await expect(appender.append([metric({ value: Number.NaN })])).rejects.toThrow(EventRefused);
    await appender.append([metric({ value: 3 })]);
    expect(events().map(({ sequence, data }) => [sequence, (data as { value: number }).value])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
    ]);
  });

  test('a refused call without long texts leaves no blob', async () => {
    await expect(open().append([metric({ metric: '' })])).rejects.toThrow(EventRefused);
    expect(await readdir(folder)).toEqual([]);
  });

  test('a configuration nested without end is refused as invalid, not as an internal error', async () => {
    let config: unknown = 'a\ud800';
    for (let i = 0; i < 100_000; i++) config = [config];
    const draft: Draft = {
      type: 'RunStarted',
      correlationId: runId,
      data: {
        runId,
        experimentId: null,
        name: 'deep',
        kind: 'collect',
        seed: 1,
        codeVersion: '1',
        config,
        environments: [],
        policy: null,
      },
    };
    await expect(open().append([draft])).rejects.toThrow(EventRefused);
    expect(records).toEqual([]);
  });
});
