import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey, revokeKey } from '../postgres/keys.ts';
import { createLogger } from '../runtime/logger.ts';
import { until } from '../testing/until.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test.each([
  ['one address', {}, undefined],
  ['one client of a trusted proxy, whose other clients have valid keys', { trustedProxies: ['127.0.0.1'] }, '203.0.113.9'],
])(
  'a storm of wrong keys from %s locks out no valid key, not even one that the server has never seen',
  async (_of, options, guesser) => {
    const { key } = await createKey(api.database.db, { name: 'honest', scopes: ['read'] });
    const server = await api.serve({ host: '0.0.0.0', ...options });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    const ask = (shown: string, client = '198.51.100.7') =>
      fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${shown}`, 'x-forwarded-for': client } });
    const guesses = Promise.all(
      Array.from({ length: 500 }, async (_, guess) => (await ask(`espalier_${String(guess).padStart(43, 'x')}`, guesser)).status),
    );
    expect((await ask(key)).status).toBe(200);
    expect(new Set(await guesses)).toEqual(new Set([401]));
    const { key: another } = await createKey(api.database.db, { name: 'made meanwhile', scopes: ['read'] });
    expect((await ask(another)).status).toBe(200);
  },
);

test('a request is logged with the address that a trusted proxy names, and X-Forwarded-For of others counts for nothing', async () => {
  const clientOf = async (forwarded: string, trustedProxies: readonly string[]) => {
    const lines: string[] = [];
    const logger = createLogger({ level: 'debug', form: 'json', write: (line) => lines.push(line) });
    const server = await api.serve({ trustedProxies, logger });
    await fetch(`${server.url}/healthz`, { headers: { 'x-forwarded-for': forwarded } });
    await until(() => lines.length > 0);
    return (JSON.parse(lines[0] ?? '') as { readonly client: string }).client; // as the access log writes it
  };
  expect(await clientOf('203.0.113.9', [])).toBe('127.0.0.1');
  expect(await clientOf('203.0.113.9', ['10.0.0.0/8'])).toBe('127.0.0.1');
  expect(await clientOf('203.0.113.9', ['loopback'])).toBe('203.0.113.9');
  const claimed = '192.0.2.1'; // by the client itself: the proxies add what they saw
  expect(await clientOf(`${claimed}, 203.0.113.9, 10.0.0.1`, ['127.0.0.1', '10.0.0.0/8'])).toBe('203.0.113.9');
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
