import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey, revokeKey } from '../postgres/keys.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('a storm of wrong keys from one address locks out no valid key, not even one that the server has never seen', async () => {
  const { key } = await createKey(api.database.db, { name: 'honest', scopes: ['read'] });
  const server = await api.serve({ host: '0.0.0.0' });
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  const ask = (shown: string) => fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${shown}` } });
  const guesses = Promise.all(
    Array.from({ length: 500 }, async (_, guess) => (await ask(`espalier_${String(guess).padStart(43, 'x')}`)).status),
  );
  expect((await ask(key)).status).toBe(200);
  expect(new Set(await guesses)).toEqual(new Set([401]));
  const { key: another } = await createKey(api.database.db, { name: 'made meanwhile', scopes: ['read'] });
  expect((await ask(another)).status).toBe(200);
});

test('responses of a revoked key end within 5 s, begun or not, and those of other keys continue', async () => {
  const server = await api.serve({
    host: '0.0.0.0',
    timeouts: { closeMs: 50 },
    api: {
      queries: (req, res) => {
        if (req.url?.includes('stream')) res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
      },
    },
  });
  const follow = async (name: string) => {
    const { key, apiKey } = await createKey(api.database.db, { name, scopes: ['read'] });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
    const { body } = await fetch(`${url}/graphql?stream`, { headers });
    const reader = body?.getReader();
    await reader?.read();
    const waiting = fetch(`${url}/graphql?wait`, { headers }).catch(() => 'cut');
    const ended = reader?.read().then(
      () => 'more',
      () => 'cut',
    );
    return { keyId: apiKey.keyId, ended, waiting };
  };
  const [gone, kept] = [await follow('gone'), await follow('kept')];
  await revokeKey(api.database.db, gone.keyId);
  const revoked = performance.now();
  expect(await Promise.all([gone.ended, gone.waiting])).toEqual(['cut', 'cut']);
  expect(performance.now() - revoked).toBeLessThan(5_000);
  expect(await Promise.race([kept.ended, kept.waiting, Promise.resolve('open')])).toBe('open');
});
