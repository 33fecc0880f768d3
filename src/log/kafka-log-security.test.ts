import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { isTransient } from './kafka-log-errors.ts';
import { createTokenProvider } from './kafka-log-security.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** Starts a token server that gives these answers in turn, and returns what asks it at the time of a clock. */
async function tokensOf(answers: readonly (readonly [status: number, body: string])[], clock?: () => number) {
  const left = [...answers];
  server = createServer((_, res) => {
    const [status, body] = left.shift() ?? [500, 'asked too often'];
    res.writeHead(status, { connection: 'close' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a server that listens
  const client = { clientId: 'espalier', clientSecret: 'secret', scope: null };
  return createTokenProvider({ mechanism: 'oauthbearer', tokenUrl: `http://127.0.0.1:${port}/token`, ...client }, clock);
}
const token = (value: string) => [200, JSON.stringify({ access_token: value, expires_in: 100 })] as const;
const faultOf = (asking: Promise<unknown>) => asking.then(() => undefined).catch((error: unknown) => error);

test('a token server that answers 503, 429 or no JSON is asked again by the client, and then gives the token', async () => {
  const provide = await tokensOf([[503, 'busy'], [429, 'slowly'], [200, '<html>'], token('t')]);
  for (const _ of ['503', '429', 'no JSON']) {
    const fault = await faultOf(provide());
    expect(fault).toMatchObject({ retriable: true });
    expect(isTransient(fault)).toBe(true);
  }
  expect(await provide()).toMatchObject({ value: 't' });
});

test('a token server that is away is an outage', async () => {
  const provide = await tokensOf([]);
  const closed = server ? once(server, 'close') : undefined;
  server?.close();
  await closed;
  const fault = await faultOf(provide());
  expect(isTransient(fault)).toBe(true);
  expect(String(fault)).toMatch(/gave no token: fetch failed/);
});

test.each([400, 401, 403])('a token server that answers %d refuses the login', async (status) => {
  const provide = await tokensOf([[status, 'who are you?']]);
  expect(isTransient(await faultOf(provide()))).toBe(false);
});

test('a token is kept for most of its time', async () => {
  let now = 0;
  const provide = await tokensOf([token('first'), token('second')], () => now);
  expect(await provide()).toMatchObject({ value: 'first' });
  now = 79_000;
  expect(await provide()).toMatchObject({ value: 'first' });
  now = 81_000;
  expect(await provide()).toMatchObject({ value: 'second' });
});
