import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const builder = new EventBuilder('hostile');
builder.walk(builder.tree(builder.run()), 0, 2, 1);

/** Anything at all: bytes, JSON, and events with some part replaced, under any type and encoding. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((raw) => Buffer.from(raw)),
  fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text)),
  fc
    .tuple(
      fc.constantFrom(...builder.events),
      fc.constantFrom('id', 'type', 'data', 'producer', 'stream', 'sequence', 'x'),
      fc.jsonValue(),
    )
    .map(([event, key, value]) => Buffer.from(JSON.stringify([{ ...event, [key]: value }]))),
  fc.tuple(fc.constantFrom(...builder.events), fc.nat({ max: 30 }), fc.jsonValue()).map(([event, place, value]) => {
    const keys = Object.keys(event.data);
    return Buffer.from(JSON.stringify({ ...event, data: { ...event.data, [keys[place % keys.length] ?? 'x']: value } }));
  }),
  fc
    .tuple(fc.constantFrom(...builder.events), fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 3 }))
    .map(([event, at, noise]) => {
      const whole = Buffer.from(JSON.stringify(event));
      whole.set(noise, at % (whole.length - noise.length));
      return whole;
    }),
);
const types = fc.constantFrom('application/json', 'application/x-ndjson', 'text/plain', 'application/json; charset=utf-8');
const encodings = fc.constantFrom('plain', 'gzip', 'gzip in name only');

test.each([
  ['items', Array.from({ length: 130_000 }, () => 0)],
  ['keys', Object.fromEntries(Array.from({ length: 130_000 }, (_, i) => [i.toString(36), 0]))],
])('an event with 130,000 %s in its free-form part is accepted', async (what, config) => {
  const wide = new EventBuilder(what);
  wide.run('wide', { config });
  expect(await api.post(wide.events)).toMatchObject({ status: 200, body: { appended: 1 } });
});

test('the endpoint survives any input, and what it refuses leaves nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(bytes, types, encodings, async (body, type, encoding) => {
      const before = await api.records();
      const answer = await api.post(encoding === 'gzip' ? gzipSync(body) : body, {
        'content-type': type,
        ...(encoding === 'plain' ? {} : { 'content-encoding': 'gzip' }),
      });
      expect(answer.status).toBeLessThan(500);
      expect(await api.records()).toBe(before + (answer.status === 200 ? (answer.body.appended ?? 0) : 0));
      if (answer.status !== 200) expect(answer.body.error?.message).toEqual(expect.any(String));
    }),
    { numRuns: 38 },
  );
});
