import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { decodePng } from '../images/png.ts';
import { createKey } from '../postgres/keys.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { testPictures } from '../testing/painted-world.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

const { dot, noise, red } = await testPictures();
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
  const builder = new EventBuilder('pictures over http');
  const tree = builder.tree(builder.run(), 'a', { pictures: [dot.data] });
  builder.step(tree, builder.rollout(tree), tree.rootStepId, 1, { pictures: [noise.data, red.data] });
  const { status, body } = await api.post(builder.events);
  expect([status, body.error]).toEqual([200, undefined]);
  await api.projected(body.position ?? '');
});
afterAll(() => api.close());

const get = (id: string, headers: Record<string, string> = {}, url = api.server.url) =>
  fetch(`${url}/images/${id}.png`, { headers });

test('a picture of an observation is served by its id with its pixels, and once to who keeps it', async () => {
  for (const { id, base64 } of [dot, noise]) {
    const response = await get(id);
    expect([response.status, response.headers.get('content-type'), response.headers.get('etag')]).toEqual([
      200,
      'image/png',
      `"${id}"`,
    ]);
    expect((await decodePng(Buffer.from(await response.arrayBuffer()))).rgb).toEqual(
      (await decodePng(Buffer.from(base64, 'base64'))).rgb,
    );
    expect((await get(id, { 'if-none-match': `"${id}"` })).status).toBe(304);
  }
});

test('a key that sees other projects alone does not find a picture', async () => {
  const keyOf = (project: string) => createKey(api.database.db, { name: project, scopes: ['read'], projects: [project] });
  const keys = { default: await keyOf('default'), another: await keyOf('another') };
  const server = await api.serve({ host: '0.0.0.0' });
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  const ask = async (project: keyof typeof keys) =>
    (await get(dot.id, { authorization: `Bearer ${keys[project].key}` }, url)).status;
  expect([await ask('default'), await ask('another')]).toEqual([200, 404]);
});

test('a picture whose bytes were changed is 500, with its step and the pixels that were found', async () => {
  await sql`update pictures_v2.pictures set png = ${JSON.stringify(dot.data.png)}::jsonb where image_id = ${red.id}`.execute(
    api.database.db,
  );
  const response = await get(red.id);
  const { error } = (await response.json()) as { error: { message: string } };
  expect([response.status, error.message]).toEqual([500, expect.stringContaining(`has other pixels, those of ${dot.id}`)]);
});

test.each([
  [
    'bytes that are no PNG',
    { png: { ...dot.data.png, bytes: Buffer.alloc(dot.data.png.length, 71).toString('base64') } },
    'is no PNG',
  ],
  ['another number of bytes', { png: { ...dot.data.png, length: 7 } }, 'and says 7'],
  ['another size', { width: 3 }, 'has 1 × 1 pixels and says 3 × 1'],
  ['another type', { png: { ...dot.data.png, dtype: 'int32' as const } }, 'not uint8'],
  ['a side beyond the limit', { width: 5_000 }, 'more than 4096 on a side'],
])('a posted picture with %s is refused with its place and the remedy', async (_, wrong, message) => {
  const builder = new EventBuilder('wrong');
  builder.tree(builder.run(), 'a', { pictures: [red.data, { ...dot.data, ...wrong }] });
  const { status, body } = await api.post(builder.events);
  expect([status, body.error?.problems]).toEqual([
    400,
    [expect.objectContaining({ index: 1, path: 'data.pictures.1.png', message: expect.stringContaining(message) })],
  ]);
});
