import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey, revokeKey } from '../postgres/keys.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('an address that showed too many wrong keys is answered 429 with Retry-After, while keys that were good there go on, until they are revoked', async () => {
  let now = 1_000_000;
  const { key, apiKey } = await createKey(api.database.db, { name: 'honest', scopes: ['read'] });
  const server = await api.serve({ host: '0.0.0.0', clock: () => now, wrongKeysPerAddress: 3 });
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  const ask = (shown: string) => fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${shown}` } });
  expect((await ask(key)).status).toBe(200);

  const guesses = await Promise.all([1, 2, 3, 4, 5].map((guess) => ask(`espalier_${String(guess).repeat(43)}`)));
  expect(guesses.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429, 429]);
  const refused = await ask('espalier_wrong');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20']);
  expect(await refused.json()).toMatchObject({
    error: { message: '3 wrong API keys came from this address within a minute, and this one was not looked up' },
  });
  expect((await ask(key)).status).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);

  await revokeKey(api.database.db, apiKey.keyId);
  now += 6_000; // what is remembered of good keys is over
  expect((await ask(key)).status).toBe(401);
  expect((await ask(key)).status).toBe(429);
  now += 60_000;
  expect((await ask(key)).status).toBe(401);
});
