import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openBlobStore } from '../../blobs/blob-store.ts';
import { openFolderObjects } from '../../blobs/folder-objects.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { readStreamTopics } from '../../projections/journal/read-stream-topics.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';
import { appended, givenRun, refused } from './ingest-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
});
afterAll(() => api.close());

describe('one id for a run and a tree', () => {
  const message = (id: string, home: string, topic: string) =>
    `the id ${id} names a stream of topic ${home}, and an event of topic ${topic} would put it in both`;
  /** Events whose tree has the id of its run. */
  function twice() {
    const { builder, runId, tree } = givenRun();
    const [run, opened] = builder.events;
    if (run?.type !== 'RunStarted' || opened?.type !== 'TreeOpened') throw new Error('a builder begins with a run and a tree');
    return { run, opened: { ...opened, stream: runId, data: { ...opened.data, treeId: runId } }, runId, tree };
  }

  test('the second topic of an id within one request is refused, and nothing is appended', async () => {
    const { run, opened, runId } = twice();
    await refused(api, () => api.post([run, opened]), 409, {
      index: 1,
      path: 'data.treeId',
      message: message(runId, 'runs', 'trees'),
      remedy: 'give runs, trees, datasets and lineages ids of their own',
    });
  });

  test('the second topic of an id is refused right after the first was appended, and after that is journalled', async () => {
    const { run, opened, runId } = twice();
    const { body } = await appended(api, [run]);
    const problem = { index: 0, path: 'data.treeId', message: message(runId, 'runs', 'trees') };
    await refused(api, () => api.post([opened]), 409, problem);
    await api.projected(body.position ?? '');
    expect(await readStreamTopics(api.database.db, [runId])).toEqual(new Map([[runId, 'runs']]));
    const { url } = await api.serve(); // a server that remembers nothing
    await refused(api, () => api.post([opened], {}, url), 409, problem);
  });

  test('one of two concurrent requests for an id succeeds', async () => {
    const { run: home, opened } = twice();
    await appended(api, [home]);
    const { run, runId } = twice();
    // a tree of the first run, under the id of the second
    const tree = { ...opened, stream: runId, data: { ...opened.data, treeId: runId } };
    const answers = await Promise.all([api.post([run]), api.post([tree])]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
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
    await refused(api, () => api.post(body, { 'content-type': type }), 400);
  });

  test('a request with one invalid event is refused whole with its place, field and id (400)', async () => {
    const { builder } = givenRun();
    const [run, tree] = builder.events;
    const problem = { index: 1, id: tree?.id, path: 'data.seed' };
    await refused(api, () => api.post(JSON.stringify([run, { ...tree, data: { ...tree?.data, seed: 'one' } }])), 400, problem);
  });

  test('an unknown type and an unknown version are refused (400)', async () => {
    const { builder } = givenRun();
    await refused(api, () => api.post(JSON.stringify([{ ...builder.events[0], type: 'RunBegan' }])), 400, { path: 'type' });
    await refused(api, () => api.post(JSON.stringify([{ ...builder.events[0], schemaVersion: 2 }])), 400, {
      path: 'schemaVersion',
    });
  });

  test('NDJSON with one bad line is refused whole (400)', async () => {
    const { builder } = givenRun();
    const [run, tree] = builder.events.map((event) => JSON.stringify(event));
    const send = () => api.post(`${run}\n{"id":\n${tree}`, { 'content-type': 'application/x-ndjson' });
    await refused(api, send, 400, { index: 1, message: expect.stringContaining('line 2') });
  });

  test('invalid or truncated gzip is refused (400)', async () => {
    const whole = gzipSync(JSON.stringify(givenRun().builder.events));
    await refused(api, () => api.post('not gzip', { 'content-encoding': 'gzip' }), 400);
    await refused(api, () => api.post(whole.subarray(0, whole.length - 9), { 'content-encoding': 'gzip' }), 400);
  });

  test.each([
    ['no event type', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
    ['another encoding', { 'content-encoding': 'br' }],
  ])('%s is refused (415)', async (_name, headers) => {
    await refused(api, () => api.post('[]', headers), 415);
  });

  test('a body over the limit, announced, streamed or as a gzip bomb, is refused (413)', async () => {
    const { url } = await api.serve({ limits: { bodyBytes: 100_000 } });
    const large = Buffer.alloc(3_000_000, ' ');
    await refused(api, () => api.post(large, {}, url), 413);
    const bomb = gzipSync(Buffer.alloc(200_000_000, ' '));
    expect(bomb.length).toBeLessThan(300_000);
    const rss = process.memoryUsage().rss;
    await refused(api, () => api.post(bomb.subarray(0, 90_000), { 'content-encoding': 'gzip' }, url), 413);
    await refused(api, () => api.post(bomb, { 'content-encoding': 'gzip' }), 413);
    expect(process.memoryUsage().rss - rss).toBeLessThan(150_000_000);
  });

  test('more events than the limit are refused (413)', async () => {
    const { url } = await api.serve({ limits: { eventsPerRequest: 1 } });
    await refused(api, () => api.post(givenRun().builder.events, {}, url), 413);
  });

  test('an event over the limit of the log is refused by name (413)', async () => {
    const { builder, runId } = givenRun();
    const words = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, 'x'.repeat(60_000)]));
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    expect(event.data.runId).toBe(runId);
    await refused(api, () => api.post([{ ...event, data: { ...event.data, config: words } }]), 413, { index: 0, id: event.id });
  });

  test('a reference to what is not on record is accepted, and waits in the quarantine of the projection that misses it', async () => {
    const { builder, tree } = givenRun();
    builder.step(tree, null, builder.id('nowhere'), 1);
    const { body } = await appended(api, builder.events);
    await api.projected(body.position ?? '');
    const eventId = builder.events.at(-1)?.id ?? '';
    expect(await rowsWhere(api.database.db, 'quarantine', { eventId }, ['code', 'field'], ['projection'])).toEqual(
      expect.arrayContaining([{ code: 'missing-parent', field: 'data.parentStepId' }]),
    );
  });

  test('a reference to a missing payload is refused (422)', async () => {
    const { builder, tree } = givenRun();
    builder.step(tree, null, tree.rootStepId, 1, { observation: { blob: 'a'.repeat(64), size: 9, mediaType: 'text/plain' } });
    await refused(api, () => api.post(builder.events), 422, { index: 2, path: 'data.observation' });
  });

  test('requests beyond the concurrency limit are refused (429 with Retry-After)', async () => {
    const { url } = await api.serve({ limits: { ingestBytes: 1_024 } });
    const answer = await refused(api, () => api.post(givenRun().builder.events, {}, url), 429);
    expect(answer.headers.get('retry-after')).toBe('1');
    const closed = await api.serve({ limits: { ingestRequests: 1 } });
    const { builder } = givenRun();
    const answers = await Promise.all(Array.from({ length: 6 }, () => api.post(builder.events, {}, closed.url)));
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 429]));
    expect(await api.post(builder.events, {}, closed.url)).toMatchObject({ status: 200 });
  });
});

test('a blob store that is not writable is 503 with a retry, and nothing is appended', async () => {
  const { url } = await api.serve({ api: { blobs: openBlobStore(openFolderObjects('/dev/null/blobs')) } });
  const { builder, tree } = givenRun();
  builder.step(tree, null, tree.rootStepId, 1, { observation: 'x'.repeat(100_000) });
  const answer = await refused(api, () => api.post(builder.events, {}, url), 503);
  expect(answer.headers.get('retry-after')).toBe('2');
});
