import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { sha256Hex } from '../digest/sha256.ts';
import { newId } from '../events/new-id.ts';
import { streamOf } from '../events/stream-of.ts';
import { imageId } from '../images/image-id.ts';
import { decodePng } from '../images/png.ts';
import { createKey } from '../postgres/keys.ts';
import { rowsWhere } from '../postgres/rows-where.ts';
import { createLogger } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { recordDrawnHistories } from '../testing/record-drawn-histories.ts';
import { recordRenderSpec, recordSegment } from '../testing/record-images.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

let api: TestApi;
let builder: EventBuilder;
let drawn: ReturnType<typeof recordDrawnHistories>;
let steps: readonly string[];
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
  builder = new EventBuilder('images over http');
  const tree = builder.tree(builder.run());
  steps = builder.walk(tree, 0, 3, 1).steps;
  const records = ['[Observation]: a hall [Action]: north', '[Observation]: a garden [Action]: look'];
  drawn = recordDrawnHistories(builder, tree, steps, { records, factors: [1, 1, 1.2] });
});
afterAll(() => api.close());

const urlOf = (id: string | undefined, url = api.server.url) => `${url}/images/${id}.png`;

describe('history images in POST /v1/events', () => {
  test('histories are accepted in an order in which each event follows those it names', async () => {
    const { status, body } = await api.post(builder.events);
    expect([status, body.appended]).toEqual([200, builder.events.length]);
    await api.projected(body.position ?? '');
    const rows = await api.database.db.selectFrom('historyImages').select('imageId').orderBy('logOffset').execute();
    expect(rows.map(({ imageId }) => imageId)).toEqual(drawn.imageIds);
    expect(await api.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('specs and segments under ids that do not match their content wait in quarantine', async () => {
    const other = new EventBuilder('misnamed');
    const runId = other.run();
    const renderSpecId = recordRenderSpec(other, runId);
    recordSegment(other, runId, renderSpecId, 'one', { text: 'another' });
    other.record(
      'RenderSpecRegistered',
      { runId, renderSpecId: sha256Hex('misnamed'), profile: 'crisp', spec: { px: 11 } },
      runId,
    );
    recordSegment(other, runId, renderSpecId, 'nul \ufffd', { text: 'nul \0' });
    const { status, body } = await api.post(other.events);
    expect(status).toBe(200);
    await api.projected(body.position ?? '');
    const waiting = await rowsWhere(api.database.db, 'quarantine', { projection: 'images' }, ['eventId', 'field']);
    expect(new Map(waiting.map(({ eventId, field }) => [eventId, field]))).toEqual(
      new Map([
        [other.events[2]?.id, 'data.segmentId'],
        [other.events[3]?.id, 'data.renderSpecId'],
      ]),
    );
  });
});

describe('GET /images/<id>.png', () => {
  test('the endpoint serves the image that the step was shown, pixel by pixel, cacheable for ever', async () => {
    for (const id of drawn.imageIds) {
      const response = await fetch(urlOf(id));
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'image/png',
        etag: `"${id}"`,
        'cache-control': 'private, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
      const { width, height, rgb } = await decodePng(new Uint8Array(await response.arrayBuffer()));
      expect(imageId(width, height, rgb)).toBe(id);
    }
  });

  test('the endpoint serves a page of images concurrently', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(urlOf(drawn.imageIds[2]))));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
  });

  test('the endpoint answers 304 to a cached copy, and HEAD with the headers alone', async () => {
    const [id] = drawn.imageIds;
    for (const tag of [`"${id}"`, `W/"${id}"`, `"other", "${id}"`, '*']) {
      const response = await fetch(urlOf(id), { headers: { 'if-none-match': tag } });
      expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([304, `"${id}"`, '']);
    }
    expect((await fetch(urlOf(id), { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    const head = await fetch(urlOf(id), { method: 'HEAD' });
    expect([head.status, Number(head.headers.get('content-length')) > 0]).toEqual([200, true]);
  });

  test('the endpoint draws a history at another factor, under a tag of its own, and refuses what is no factor', async () => {
    const [, id] = drawn.imageIds;
    const whole = await decodePng(new Uint8Array(await (await fetch(urlOf(id))).arrayBuffer()));
    const response = await fetch(`${urlOf(id)}?factor=4`);
    expect([response.status, response.headers.get('etag')]).toEqual([200, `"${id}@4"`]);
    const small = await decodePng(new Uint8Array(await response.arrayBuffer()));
    expect(small.width).toBeLessThan(whole.width / 1.8);
    expect(small.width * small.height).toBeLessThan(whole.width * whole.height);
    const kept = await fetch(`${urlOf(id)}?factor=4`, { headers: { 'if-none-match': `"${id}@4"` } });
    expect(kept.status).toBe(304);
    expect((await fetch(`${urlOf(id)}?factor=4`, { headers: { 'if-none-match': `"${id}"` } })).status).toBe(200);
    const own = await fetch(`${urlOf(id)}?factor=1`); // the one that it was shown at
    expect(own.headers.get('etag')).toBe(`"${id}"`);
    for (const factor of ['0.5', '101', 'two', 'NaN', ''])
      expect([factor, (await fetch(`${urlOf(id)}?factor=${factor}`)).status]).toEqual([factor, 400]);
  });

  test('an id that no step was shown is 404, whether kept or not', async () => {
    for (const headers of [{}, { 'if-none-match': `"${'0'.repeat(64)}"` }]) {
      const response = await fetch(urlOf('0'.repeat(64)), { headers });
      expect([response.status, response.headers.get('cache-control')]).toEqual([404, 'no-store']);
    }
  });

  test.each([
    '/images/',
    '/images/x.png',
    '/images/..%2f..%2fetc%2fpasswd.png',
    `/images/../images/${'A'.repeat(64)}.png`,
    `/images/${'a'.repeat(63)}.png`,
    `/images/${'a'.repeat(64)}.png/x`,
    `/images/${'a'.repeat(64)}.jpg`,
    `/images/${'a'.repeat(64)}.png%00`,
    `/images/${"a'; drop table segments; --"}.png`,
  ])('%s is not a path of an image', async (path) => {
    expect((await fetch(`${api.server.url}${path}`)).status).toBe(404);
  });

  test('the endpoint is read-only, and needs the read scope off loopback', async () => {
    const response = await fetch(urlOf(drawn.imageIds[0]), { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
    const { key: ingest } = await createKey(api.database.db, { name: 'ingest', scopes: ['ingest'] });
    const { key: read } = await createKey(api.database.db, { name: 'read', scopes: ['read'] });
    const server = await api.serve({ host: '0.0.0.0' });
    const ask = async (key?: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      return (await fetch(urlOf(drawn.imageIds[0], server.url.replace('0.0.0.0', '127.0.0.1')), { headers })).status;
    };
    expect([await ask(), await ask(ingest), await ask(read)]).toEqual([401, 403, 200]);
  });

  test('the metrics show the hits of the image cache', async () => {
    const server = await api.serve();
    for (const id of drawn.imageIds.slice(1)) await (await fetch(urlOf(id, server.url))).arrayBuffer();
    const measured = await (await fetch(`${server.url}/metrics`)).text();
    expect(measured).toContain('espalier_segment_cache_lookups{outcome="hit"} 1\n');
    expect(measured).toContain('espalier_segment_cache_lookups{outcome="miss"} 2\n');
    expect(measured).toContain('espalier_segment_cache_segments 2\n');
    expect(measured).toMatch(/espalier_segment_cache_bytes [1-9]/);
    expect(measured).toContain('espalier_images_rebuilt_total{outcome="image"} 2\n');
  });

  test('a damaged record is 500, and answer and log name the damage', async () => {
    const lines: string[] = [];
    const server = await api.serve({ api: { logger: createLogger({ level: 'info', write: (line) => lines.push(line) }) } });
    const [id, segmentId] = [drawn.imageIds[2], drawn.segmentIds[1]];
    await sql`update images_v2.segments set text = replace(text, 'garden', 'gardem') where segment_id = ${segmentId}`.execute(
      api.database.db,
    );
    const response = await fetch(urlOf(id, server.url));
    expect([response.status, response.headers.get('etag')]).toEqual([500, null]);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain(`step ${steps[2]}`);
    expect(error.message).toContain(`segment ${segmentId} holds a text that is not the one its id is the hash of`);
    expect(lines.join('\n')).toContain(segmentId);
    expect((await fetch(urlOf(drawn.imageIds[1], server.url))).status).toBe(200);
  });

  test('an image whose text is forgotten is 410 for who has it too, and for a key that sees its project alone', async () => {
    const { db } = api.database;
    const [id, segmentId = ''] = [drawn.imageIds[1], drawn.segmentIds[0]];
    const { treeId } = await db
      .selectFrom('steps')
      .select('treeId')
      .where('stepId', '=', steps[1] ?? '')
      .executeTakeFirstOrThrow();
    for (const stream of [treeId, streamOf('SegmentRendered', { segmentId })])
      await sql`insert into stream_keys (key_id, stream, destroyed_at) values (${newId()}, ${stream}, now())`.execute(db);
    await sql`delete from images_v2.segments where segment_id = ${segmentId}`.execute(db);
    const { key } = await createKey(db, { name: 'mine', scopes: ['read'], projects: ['default'] });
    for (const headers of [{}, { authorization: `Bearer ${key}` }, { 'if-none-match': `"${id}"` }]) {
      const response = await fetch(urlOf(id), { headers: headers as Record<string, string> });
      expect([response.status, await response.text()]).toEqual([410, expect.stringContaining('is forgotten')]);
    }
  });
});
