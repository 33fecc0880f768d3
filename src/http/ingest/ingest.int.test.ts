import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openFileBlobStore } from '../../blobs/file-blob-store.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { readStreamTopics } from '../../projections/journal/read-stream-topics.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { type Answer, openTestApi, type TestApi } from '../http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
});
afterAll(() => api.close());

let builders = 0;
/** A run with one open tree, under ids that no other test has. */
function given() {
  const builder = new EventBuilder(`ingest ${builders++}`);
  const runId = builder.run();
  const tree = builder.tree(runId);
  return { builder, runId, tree };
}

async function appended(events: readonly Envelope[]): Promise<Answer> {
  const answer = await api.post(events);
  expect(answer).toMatchObject({ status: 200, body: { accepted: events.length, appended: events.length, duplicates: 0 } });
  return answer;
}

/** Expects a refusal and an untouched log. */
async function refused(send: () => Promise<Answer>, status: number, problem?: object): Promise<Answer> {
  const before = await api.records();
  const answer = await send();
  expect(answer.status).toBe(status);
  expect(answer.body.error).toMatchObject({ message: expect.any(String), remedy: expect.any(String) });
  if (problem) expect(answer.body.error?.problems?.[0]).toMatchObject(problem);
  expect(await api.records()).toBe(before);
  return answer;
}

describe('one id for a run and a tree', () => {
  const message = (id: string, home: string, topic: string) =>
    `the id ${id} names a stream of topic ${home}, and an event of topic ${topic} would put it in both`;
  /** Events whose tree has the id of its run. */
  function twice() {
    const { builder, runId, tree } = given();
    const [run, opened] = builder.events;
    if (run?.type !== 'RunStarted' || opened?.type !== 'TreeOpened') throw new Error('a builder begins with a run and a tree');
    return { run, opened: { ...opened, stream: runId, data: { ...opened.data, treeId: runId } }, runId, tree };
  }

  test('the second topic of an id within one request is refused, and nothing is appended', async () => {
    const { run, opened, runId } = twice();
    await refused(() => api.post([run, opened]), 409, {
      index: 1,
      path: 'data.treeId',
      message: message(runId, 'runs', 'trees'),
      remedy: 'give runs, trees, datasets and lineages ids of their own',
    });
  });

  test('the second topic of an id is refused right after the first was appended, and after that is journalled', async () => {
    const { run, opened, runId } = twice();
    const { body } = await appended([run]);
    const problem = { index: 0, path: 'data.treeId', message: message(runId, 'runs', 'trees') };
    await refused(() => api.post([opened]), 409, problem);
    await api.projected(body.position ?? '');
    expect(await readStreamTopics(api.database.db, [runId])).toEqual(new Map([[runId, 'runs']]));
    const { url } = await api.serve(); // a server that remembers nothing
    await refused(() => api.post([opened], {}, url), 409, problem);
  });

  test('one of two concurrent requests for an id succeeds', async () => {
    const { run: home, opened } = twice();
    await appended([home]);
    const { run, runId } = twice();
    // a tree of the first run, under the id of the second
    const tree = { ...opened, stream: runId, data: { ...opened.data, treeId: runId } };
    const answers = await Promise.all([api.post([run]), api.post([tree])]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

describe('accepted bodies of POST /v1/events', () => {
  test('an array of events is accepted and answered with a position after which it can be read', async () => {
    const { builder, tree } = given();
    const { steps } = builder.walk(tree, 0, 3, 1);
    const { body } = await appended(builder.events);
    await api.projected(body.position ?? '');
    const rows = await api.database.db.selectFrom('steps').select('step_id').where('tree_id', '=', tree.treeId).execute();
    expect(new Set(rows.map((row) => row.step_id))).toEqual(new Set([tree.rootStepId, ...steps]));
  });

  test('a single object is accepted', async () => {
    const { builder } = given();
    expect(await api.post(builder.events[0] as Envelope)).toMatchObject({ status: 200, body: { accepted: 1, appended: 1 } });
  });

  test('NDJSON is accepted', async () => {
    const { builder } = given();
    const lines = builder.events.map((event) => JSON.stringify(event)).join('\n');
    const answer = await api.post(`${lines}\n\n`, { 'content-type': 'application/x-ndjson' });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 2, appended: 2, duplicates: 0 } });
  });

  test('a gzip body is accepted', async () => {
    const { builder } = given();
    const answer = await api.post(gzipSync(JSON.stringify(builder.events)), { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 2, appended: 2 } });
  });

  test('an empty array is accepted', async () => {
    expect(await api.post('[]')).toMatchObject({ status: 200, body: { accepted: 0, appended: 0, duplicates: 0, position: '' } });
  });

  test('a text of 10 MB is accepted and offloaded to the blob store', async () => {
    const { builder, tree } = given();
    const observation = 'ü'.repeat(5_000_000);
    const stepId = builder.step(tree, null, tree.rootStepId, 1, { observation });
    const { body } = await appended(builder.events);
    await api.projected(body.position ?? '');
    const row = await api.database.db.selectFrom('steps').select('blobs').where('step_id', '=', stepId).executeTakeFirstOrThrow();
    const reference = row.blobs?.observation;
    expect(reference?.size).toBe(10_000_000);
    expect(Buffer.from(await api.blobs.get(reference?.blob ?? '')).toString('utf8') === observation).toBe(true);
  });

  test('NUL and half surrogates in model text are repaired, and the answer reports it', async () => {
    const { builder, tree } = given();
    const stepId = builder.step(tree, null, tree.rootStepId, 1, { response: 'a\0b', action: '\ud83d' });
    const { body } = await appended(builder.events);
    await api.projected(body.position ?? '');
    const row = await api.database.db
      .selectFrom('steps')
      .select(['response', 'action'])
      .where('step_id', '=', stepId)
      .executeTakeFirst();
    expect(row).toEqual({ response: 'a\uFFFDb', action: '\uFFFD' });
    const id = builder.events.at(-1)?.id ?? '';
    const { body: record } = await api.database.db
      .selectFrom('events')
      .select('body')
      .where('event_id', '=', id)
      .executeTakeFirstOrThrow();
    const decoded = decode(Buffer.from(record));
    expect(decoded.kind === 'event' && decoded.event.repaired).toEqual(['data.response', 'data.action']);
  });

  test('a child is accepted in its own request right after the parent, whether or not the read models have the parent', async () => {
    const { builder, tree } = given();
    await appended(builder.events);
    let parent = tree.rootStepId;
    for (let depth = 1; depth <= 5; depth++) {
      parent = builder.step(tree, null, parent, depth);
      await appended(builder.events.slice(-1));
    }
  });

  test('a child is accepted through another server, which waits for the read models', async () => {
    const { builder, tree } = given();
    await appended(builder.events);
    builder.step(tree, null, tree.rootStepId, 1);
    const other = await api.serve();
    const answer = await api.post(builder.events.slice(-1), {}, other.url);
    expect(answer).toMatchObject({ status: 200, body: { appended: 1 } });
  });
});

describe('idempotence of POST /v1/events', () => {
  test('repeated events are accepted and not appended, at once and after the journal has them', async () => {
    const { builder, tree } = given();
    builder.walk(tree, 0, 2, 1);
    const first = await appended(builder.events);
    const before = await api.records();
    const expected = {
      accepted: builder.events.length,
      appended: 0,
      duplicates: builder.events.length,
      position: first.body.position,
    };
    expect(await api.post(builder.events)).toMatchObject({ status: 200, body: expected });
    await api.projected(first.body.position ?? '');
    const fresh = await api.serve(); // remembers nothing: only the journal knows
    expect(await api.post(builder.events, {}, fresh.url)).toMatchObject({ status: 200, body: expected });
    expect(await api.records()).toBe(before);
  });

  test('an event that occurs twice in one request is appended once', async () => {
    const { builder } = given();
    const answer = await api.post([...builder.events, ...builder.events]);
    expect(answer).toMatchObject({ status: 200, body: { accepted: 4, appended: 2, duplicates: 2 } });
  });

  test('a repaired or offloaded text counts as the same content when it is sent again', async () => {
    const { builder, tree } = given();
    builder.step(tree, null, tree.rootStepId, 1, { response: 'a\0b', observation: 'x'.repeat(100_000) });
    await appended(builder.events);
    expect(await api.post(builder.events)).toMatchObject({ status: 200, body: { appended: 0, duplicates: 3 } });
  });

  test('different content under a known id is 409 with the id, at once and after the journal has it, and nothing is appended', async () => {
    const { builder } = given();
    const { body } = await appended(builder.events.slice(0, 1));
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    const other: Envelope = { ...event, data: { ...event.data, seed: 99 } };
    const send = (url?: string) => () => api.post([...builder.events.slice(1), other], {}, url);
    await refused(send(), 409, { index: 1, id: event.id, path: 'id' });
    await api.projected(body.position ?? '');
    const fresh = await api.serve();
    await refused(send(fresh.url), 409, { index: 1, id: event.id, path: 'id' });
  });

  test('different contents under one id in one request are 409', async () => {
    const { builder } = given();
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    await refused(() => api.post([event, { ...event, data: { ...event.data, seed: 99 } }]), 409, { index: 1, id: event.id });
  });

  test('concurrent copies of a request are appended once', async () => {
    const { builder, tree } = given();
    builder.walk(tree, 0, 3, 1);
    const before = await api.records();
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(builder.events)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(answers.reduce((sum, { body }) => sum + (body.appended ?? 0), 0)).toBe(builder.events.length);
    expect(await api.records()).toBe(before + builder.events.length);
  });
});

describe('refused bodies of POST /v1/events', () => {
  test.each([
    ['malformed JSON', '[{"id":', 'application/json'],
    ['an empty body', '', 'application/json'],
    ['a bare number', '7', 'application/json'],
    ['null', 'null', 'application/json'],
    ['nesting without end', '['.repeat(100_000) + ']'.repeat(100_000), 'application/json'],
    ['NDJSON as JSON', '{}\n{}', 'application/json'],
  ])('%s is refused whole (400)', async (_name, body, type) => {
    await refused(() => api.post(body, { 'content-type': type }), 400);
  });

  test('a request with one invalid event is refused whole with its place, field and id (400)', async () => {
    const { builder } = given();
    const [run, tree] = builder.events;
    const problem = { index: 1, id: tree?.id, path: 'data.seed' };
    await refused(() => api.post(JSON.stringify([run, { ...tree, data: { ...tree?.data, seed: 'one' } }])), 400, problem);
  });

  test('an unknown type and an unknown version are refused (400)', async () => {
    const { builder } = given();
    await refused(() => api.post(JSON.stringify([{ ...builder.events[0], type: 'RunBegan' }])), 400, { path: 'type' });
    await refused(() => api.post(JSON.stringify([{ ...builder.events[0], schemaVersion: 2 }])), 400, { path: 'schemaVersion' });
  });

  test('NDJSON with one bad line is refused whole (400)', async () => {
    const { builder } = given();
    const [run, tree] = builder.events.map((event) => JSON.stringify(event));
    const send = () => api.post(`${run}\n{"id":\n${tree}`, { 'content-type': 'application/x-ndjson' });
    await refused(send, 400, { index: 1, message: expect.stringContaining('line 2') });
  });

  test('invalid or truncated gzip is refused (400)', async () => {
    const whole = gzipSync(JSON.stringify(given().builder.events));
    await refused(() => api.post('not gzip', { 'content-encoding': 'gzip' }), 400);
    await refused(() => api.post(whole.subarray(0, whole.length - 9), { 'content-encoding': 'gzip' }), 400);
  });

  test.each([
    ['no event type', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['another encoding', { 'content-encoding': 'br' }],
  ])('%s is refused (415)', async (_name, headers) => {
    await refused(() => api.post('[]', headers), 415);
  });

  test('a body over the limit, announced, streamed or as a gzip bomb, is refused (413)', async () => {
    const { url } = await api.serve({ limits: { bodyBytes: 100_000 } });
    const large = Buffer.alloc(3_000_000, ' ');
    await refused(() => api.post(large, {}, url), 413);
    const bomb = gzipSync(Buffer.alloc(200_000_000, ' '));
    expect(bomb.length).toBeLessThan(300_000);
    const rss = process.memoryUsage().rss;
    await refused(() => api.post(bomb.subarray(0, 90_000), { 'content-encoding': 'gzip' }, url), 413);
    await refused(() => api.post(bomb, { 'content-encoding': 'gzip' }), 413);
    expect(process.memoryUsage().rss - rss).toBeLessThan(150_000_000);
  });

  test('more events than the limit are refused (413)', async () => {
    const { url } = await api.serve({ limits: { eventsPerRequest: 1 } });
    await refused(() => api.post(given().builder.events, {}, url), 413);
  });

  test('an event over the limit of the log is refused by name (413)', async () => {
    const { builder, runId } = given();
    const words = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, 'x'.repeat(60_000)]));
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    expect(event.data.runId).toBe(runId);
    await refused(() => api.post([{ ...event, data: { ...event.data, config: words } }]), 413, { index: 0, id: event.id });
  });

  test('references to unrecorded ids are refused by field (422)', async () => {
    const { builder, tree, runId } = given();
    const [run, opened] = builder.events as [Envelope, Envelope];
    await refused(() => api.post([opened]), 422, { id: opened.id, path: 'data.runId' });
    const nowhere = builder.id('nowhere');
    builder.step({ treeId: nowhere, runId }, null, tree.rootStepId, 1);
    await refused(() => api.post([run, opened, ...builder.events.slice(2)]), 422, { index: 2, path: 'data.treeId' });
    await appended([run, opened]);
    const cases: [() => void, string][] = [
      [() => void builder.step(tree, null, nowhere, 1), 'data.parentStepId'],
      [() => void builder.step(tree, nowhere, tree.rootStepId, 1), 'data.rolloutId'],
      [() => void builder.step(tree, null, tree.rootStepId, 2), 'data.depth'],
      [() => void builder.reward(tree, nowhere, 1), 'data.stepId'],
      [() => void builder.finishRollout(tree, nowhere, tree.rootStepId), 'data.rolloutId'],
      [() => void builder.rollout(tree, 9, { fromStepId: nowhere }), 'data.fromStepId'],
      [() => builder.closeTree({ treeId: nowhere, runId }, 0), 'data.treeId'],
      [() => builder.finishRun(nowhere), 'data.runId'],
    ];
    for (const [record, path] of cases) {
      record();
      await refused(() => api.post(builder.events.slice(-1)), 422, { index: 0, id: builder.events.at(-1)?.id, path });
    }
  });

  test('a child before its parent in one request is refused (422)', async () => {
    const { builder, tree } = given();
    const first = builder.step(tree, null, tree.rootStepId, 1);
    builder.step(tree, null, first, 2);
    const [run, opened, one, two] = builder.events as [Envelope, Envelope, Envelope, Envelope];
    await refused(() => api.post([run, opened, two, one]), 422, { index: 2, path: 'data.parentStepId' });
  });

  test('a parent in another tree is refused (422)', async () => {
    const { builder, tree, runId } = given();
    const other = builder.tree(runId, 'other');
    await appended(builder.events);
    builder.step(tree, null, other.rootStepId, 1);
    const message = expect.stringContaining('belongs to another tree');
    await refused(() => api.post(builder.events.slice(-1)), 422, { path: 'data.parentStepId', message });
  });

  test('a reward that names a step and a rollout that did not take it is refused, in one request and in the next (422)', async () => {
    const { builder, tree } = given();
    const first = builder.walk(tree, 0, 1, 1);
    const second = builder.walk(tree, 1, 1, 0);
    const recorded = builder.events.length;
    builder.reward(tree, first.steps[0] ?? '', 1, { rolloutId: second.rolloutId });
    const problem = { path: 'data.rolloutId', message: expect.stringContaining(`was taken by rollout ${first.rolloutId}`) };
    await refused(() => api.post(builder.events), 422, { index: recorded, ...problem });
    await appended(builder.events.slice(0, recorded));
    await refused(() => api.post(builder.events.slice(recorded)), 422, problem);
    const { url } = await api.serve({}); // another process, which appended nothing lately
    await refused(() => api.post(builder.events.slice(recorded), {}, url), 422, problem);
    const candidate = builder.step(tree, null, tree.rootStepId, 1);
    builder.reward(tree, candidate, 1, { rolloutId: second.rolloutId }); // a candidate of a search was taken by no rollout
    await appended(builder.events.slice(recorded + 1));
  });

  test('a reference to a missing payload is refused (422)', async () => {
    const { builder, tree } = given();
    builder.step(tree, null, tree.rootStepId, 1, { observation: { blob: 'a'.repeat(64), size: 9, mediaType: 'text/plain' } });
    await refused(() => api.post(builder.events), 422, { index: 2, path: 'data.observation' });
  });

  test('requests beyond the concurrency limit are refused (429 with Retry-After)', async () => {
    const { url } = await api.serve({ limits: { ingestBytes: 1_024 } });
    const answer = await refused(() => api.post(given().builder.events, {}, url), 429);
    expect(answer.headers.get('retry-after')).toBe('1');
    const closed = await api.serve({ limits: { ingestRequests: 1 } });
    const { builder } = given();
    const answers = await Promise.all(Array.from({ length: 6 }, () => api.post(builder.events, {}, closed.url)));
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 429]));
    expect(await api.post(builder.events, {}, closed.url)).toMatchObject({ status: 200 });
  });
});

test('a blob store that is not writable is 503 with a retry, and nothing is appended', async () => {
  const { url } = await api.serve({ api: { blobs: openFileBlobStore('/dev/null/blobs') } });
  const { builder, tree } = given();
  builder.step(tree, null, tree.rootStepId, 1, { observation: 'x'.repeat(100_000) });
  const answer = await refused(() => api.post(builder.events, {}, url), 503);
  expect(answer.headers.get('retry-after')).toBe('2');
});

test('an undecidable event is accepted and counted while no projector runs', async () => {
  const idle = await openTestApi();
  try {
    const { builder, tree } = given();
    await idle.post(builder.events);
    builder.step(tree, null, tree.rootStepId, 1);
    const { url } = await idle.serve({ api: { catchUpMs: 50 } });
    expect(await idle.post(builder.events.slice(-1), {}, url)).toMatchObject({ status: 200, body: { appended: 1 } });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('espalier_events_undecided_total 1');
  } finally {
    await idle.close();
  }
});
