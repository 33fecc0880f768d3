import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decode } from '../../events/codec.ts';
import { type Envelope, stampOf } from '../../events/envelope.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';
import { appended, givenRun, refused } from './ingest-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
});
afterAll(() => api.close());

describe('accepted bodies of POST /v1/events', () => {
  test('an array of events is accepted and answered with a position after which it can be read', async () => {
    const { builder, tree } = givenRun();
    const { steps } = builder.walk(tree, 0, 3, 1);
    const { body } = await appended(api, builder.events);
    await api.projected(body.position ?? '');
    const rows = await api.database.db.selectFrom('steps').select('stepId').where('treeId', '=', tree.treeId).execute();
    expect(new Set(rows.map((row) => row.stepId))).toEqual(new Set([tree.rootStepId, ...steps]));
  });

  test('a single object is accepted', async () => {
    const { builder } = givenRun();
    expect(await api.post(builder.events[0] as Envelope)).toMatchObject({ status: 200, body: { accepted: 1, appended: 1 } });
  });

  test('the server stamps who appended an event and for which project, and refuses an event that says so itself', async () => {
    const { builder } = givenRun();
    const { url } = await api.serve({ project: 'atlas' });
    expect(await api.post(builder.events, {}, url)).toMatchObject({ status: 200, body: { appended: 2 } });
    await api.projected((await api.post(builder.events, {}, url)).body.position ?? '');
    const bodies = await api.database.db
      .selectFrom('events')
      .select('body')
      .where(
        'eventId',
        'in',
        builder.events.map(({ id }) => id),
      )
      .execute();
    expect(bodies.map(({ body }) => stampOf(JSON.parse(body)))).toEqual(
      [1, 2].map(() => ({ principal: 'local', project: 'atlas' })),
    );
    const forged = { ...givenRun().builder.events[0], principal: 'key:7' };
    await refused(api, () => api.post(JSON.stringify(forged)), 400, { path: 'principal' });
  });

  test('NDJSON is accepted', async () => {
    const { builder } = givenRun();
    const lines = builder.events.map((event) => JSON.stringify(event)).join('\n');
    const answer = await api.post(`${lines}\n\n`, { 'content-type': 'application/x-ndjson' });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 2, appended: 2, duplicates: 0 } });
  });

  test('a gzip body is accepted', async () => {
    const { builder } = givenRun();
    const answer = await api.post(gzipSync(JSON.stringify(builder.events)), { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 2, appended: 2 } });
  });

  test('an empty array is accepted', async () => {
    expect(await api.post('[]')).toMatchObject({ status: 200, body: { accepted: 0, appended: 0, duplicates: 0, position: '' } });
  });

  test('a text of 10 MB is accepted and offloaded to the blob store', async () => {
    const { builder, tree } = givenRun();
    const observation = 'ü'.repeat(5_000_000);
    const stepId = builder.step(tree, null, tree.rootStepId, 1, { observation });
    const { body } = await appended(api, builder.events);
    await api.projected(body.position ?? '');
    const row = await api.database.db.selectFrom('steps').select('blobs').where('stepId', '=', stepId).executeTakeFirstOrThrow();
    const reference = row.blobs?.observation;
    expect(reference?.size).toBe(10_000_000);
    expect(Buffer.from(await api.blobs.get(reference?.blob ?? '')).toString('utf8') === observation).toBe(true);
  });

  test('NUL and half surrogates in model text are repaired, and the answer reports it', async () => {
    const { builder, tree } = givenRun();
    const stepId = builder.step(tree, null, tree.rootStepId, 1, { response: 'a\0b', action: '\ud83d' });
    const { body } = await appended(api, builder.events);
    await api.projected(body.position ?? '');
    const row = await api.database.db
      .selectFrom('steps')
      .select(['response', 'action'])
      .where('stepId', '=', stepId)
      .executeTakeFirst();
    expect(row).toEqual({ response: 'a\uFFFDb', action: '\uFFFD' });
    const id = builder.events.at(-1)?.id ?? '';
    const { body: record } = await api.database.db
      .selectFrom('events')
      .select('body')
      .where('eventId', '=', id)
      .executeTakeFirstOrThrow();
    const decoded = decode(Buffer.from(record));
    expect(decoded.kind === 'event' && decoded.event.repaired).toEqual(['data.response', 'data.action']);
  });

  test('a child is accepted in its own request right after the parent, whether or not the read models have the parent', async () => {
    const { builder, tree } = givenRun();
    await appended(api, builder.events);
    let parent = tree.rootStepId;
    for (let depth = 1; depth <= 5; depth++) {
      parent = builder.step(tree, null, parent, depth);
      await appended(api, builder.events.slice(-1));
    }
  });
});

describe('idempotence of POST /v1/events', () => {
  test('repeated events are accepted and not appended, at once and after the journal has them', async () => {
    const { builder, tree } = givenRun();
    builder.walk(tree, 0, 2, 1);
    const first = await appended(api, builder.events);
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
    const { builder } = givenRun();
    const answer = await api.post([...builder.events, ...builder.events]);
    expect(answer).toMatchObject({ status: 200, body: { accepted: 4, appended: 2, duplicates: 2 } });
  });

  test('a repaired or offloaded text counts as the same content when it is sent again', async () => {
    const { builder, tree } = givenRun();
    builder.step(tree, null, tree.rootStepId, 1, { response: 'a\0b', observation: 'x'.repeat(100_000) });
    await appended(api, builder.events);
    expect(await api.post(builder.events)).toMatchObject({ status: 200, body: { appended: 0, duplicates: 3 } });
  });

  test('different content under a known id is 409 with the id, at once and after the journal has it, and nothing is appended', async () => {
    const { builder } = givenRun();
    const { body } = await appended(api, builder.events.slice(0, 1));
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    const other: Envelope = { ...event, data: { ...event.data, seed: 99 } };
    const send = (url?: string) => () => api.post([...builder.events.slice(1), other], {}, url);
    await refused(api, send(), 409, { index: 1, id: event.id, path: 'id' });
    await api.projected(body.position ?? '');
    const fresh = await api.serve();
    await refused(api, send(fresh.url), 409, { index: 1, id: event.id, path: 'id' });
  });

  test('different contents under one id in one request are 409', async () => {
    const { builder } = givenRun();
    const [event] = builder.events;
    if (event?.type !== 'RunStarted') throw new Error('a builder begins with its run');
    await refused(api, () => api.post([event, { ...event, data: { ...event.data, seed: 99 } }]), 409, { index: 1, id: event.id });
  });

  test('an id that another stream took stays free for this one, in one request, at once, and after the journal has both', async () => {
    const { builder, runId } = givenRun();
    const other = givenRun();
    const [, opened] = other.builder.events;
    if (!opened) throw new Error('a run and a tree are two events');
    const data = { runId, metric: 'taken', value: 1, at: 0 };
    const taken = { ...builder.record('MetricRecorded', data, runId), id: opened.id } as Envelope; // of another stream
    const events = [...builder.events.slice(0, 2), taken];
    await appended(api, [...events, ...other.builder.events.slice(0, 1)]);
    const second = await api.post([taken, opened]);
    expect(second).toMatchObject({ status: 200, body: { appended: 1, duplicates: 1 } });
    await api.projected(second.body.position ?? '');
    const fresh = await api.serve();
    expect(await api.post([opened, taken], {}, fresh.url)).toMatchObject({ status: 200, body: { appended: 0, duplicates: 2 } });
    await refused(api, () => api.post([{ ...taken, data: { ...data, value: 2 } } as Envelope], {}, fresh.url), 409, {
      id: taken.id,
    });
  });

  test('concurrent copies of a request are appended once', async () => {
    const { builder, tree } = givenRun();
    builder.walk(tree, 0, 3, 1);
    const before = await api.records();
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(builder.events)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(answers.reduce((sum, { body }) => sum + (body.appended ?? 0), 0)).toBe(builder.events.length);
    expect(await api.records()).toBe(before + builder.events.length);
  });
});
