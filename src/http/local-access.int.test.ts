import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKey } from '../postgres/keys.ts';
import { LOCAL, LOCAL_TOKEN } from '../testing/local-token.ts';
import { openTestApi, sendRaw, type TestApi } from './http-testing.ts';
import { linkTo } from './local-access.ts';
import type { HttpServer } from './server.ts';

let api: TestApi;
let server: HttpServer;
beforeAll(async () => {
  api = await openTestApi();
  server = await api.serve({ token: async () => LOCAL_TOKEN, hosts: ['lab.example'], requestsPerKey: 3 });
});
afterAll(() => api.close());

const status = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
  (await fetch(`${server.url}${path}`, { headers })).status;
/** Sends a request with headers that fetch does not send. */
const raw = (headers: string, path = '/v1/schemas') =>
  sendRaw(`GET ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`, server.url);

describe('a server on loopback', () => {
  test.each(['/', '/graphql?query={__typename}', '/v1/schemas', '/v1/health', '/metrics', '/openapi.json', '/images/x.png'])(
    '%s asks whoever shows nothing for the token or a key',
    async (path) => {
      const refused = await fetch(`${server.url}${path}`);
      expect([refused.status, await refused.json()]).toMatchObject([
        401,
        {
          error: {
            message: expect.stringContaining('token of the installation'),
            remedy: expect.stringContaining('espalier token'),
          },
        },
      ]);
    },
  );

  test('anybody who can connect learns that it is alive, and no more', async () => {
    const answer = await fetch(`${server.url}/healthz`);
    expect([answer.status, await answer.json()]).toEqual([200, { alive: true }]);
    expect(await status('/healthz', { authorization: 'Bearer wrong' })).toBe(401);
  });

  test('the token opens everything, and a key what its scopes open', async () => {
    const { key } = await createKey(api.database.db, { name: 'monitor', scopes: ['read'], projects: 'all' });
    for (const authorization of [LOCAL.authorization, `Bearer ${key}`])
      expect([await status('/metrics', { authorization }), await status('/v1/schemas', { authorization })]).toEqual([200, 200]);
    const post = (authorization: string) =>
      fetch(`${server.url}/v1/events`, { method: 'POST', body: '[]', headers: { authorization } });
    expect([(await post(LOCAL.authorization)).status, (await post(`Bearer ${key}`)).status]).toEqual([415, 403]);
  });

  test('measurements, which are of all projects, are refused to a key of one', async () => {
    const { key } = await createKey(api.database.db, { name: 'reader', scopes: ['read'] });
    expect(await status('/metrics', { authorization: `Bearer ${key}` })).toBe(403);
  });

  test.each([`Bearer ${LOCAL_TOKEN}x`, `Bearer ${LOCAL_TOKEN.slice(0, -1)}`, 'Bearer ', `Basic ${LOCAL_TOKEN}`])(
    'what is nearly the token is refused: %s',
    async (authorization) => expect(await status('/v1/schemas', { authorization })).toBe(401),
  );

  test('a link lets a browser in once: the page goes on without the token, and the cookie is for this server alone', async () => {
    const entered = await fetch(linkTo(server.url, '/graphql', LOCAL_TOKEN));
    const page = await entered.text();
    expect(page).toContain('<meta http-equiv="refresh" content="0; url=/graphql">');
    expect(page).not.toContain(LOCAL_TOKEN);
    const [cookie = '', ...rules] = (entered.headers.get('set-cookie') ?? '').split('; ');
    expect(rules.sort()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict']);
    expect(cookie).not.toContain(LOCAL_TOKEN.slice(15));
    const { port } = new URL(server.url);
    expect(cookie).toMatch(new RegExp(`^espalier-${port}=`));
    expect(await status('/v1/schemas', { cookie: `a=1; ${cookie}` })).toBe(200);
    expect(await status('/v1/schemas', { cookie: `${cookie}x` })).toBe(401);
    // What the cookie holds is no token: a program that came by it can show it as neither.
    expect(await status('/v1/schemas', { authorization: `Bearer ${cookie.split('=')[1]}` })).toBe(401);
    expect(await status(`/?token=${cookie.split('=')[1]}`)).toBe(401);
  });

  test('a link leads nowhere else', async () => {
    for (const path of ['//evil.example/', '/\\evil.example', '/"><script>', '/?next=//evil.example&a=%22%3E']) {
      const page = await raw(
        `Host: ${new URL(server.url).host}\r\n`,
        `${path}${path.includes('?') ? '&' : '?'}token=${LOCAL_TOKEN}`,
      );
      expect(/url=(\/(?![/\\])[^"<>]*)">/.exec(page)?.[1]).toBeDefined();
      expect(page).not.toMatch(/<script|url=\/\//);
    }
  });

  test('the cookie does not help a page of another site or port', async () => {
    const entered = await fetch(linkTo(server.url, '/', LOCAL_TOKEN));
    const cookie = (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect(await status('/v1/schemas', { cookie, origin: 'http://127.0.0.1:5173' })).toBe(403);
    expect(await status('/v1/schemas', { cookie, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' })).toBe(403);
  });

  test('it answers to names of loopback and to those that are allowed, once and in one way', async () => {
    const token = `Authorization: ${LOCAL.authorization}\r\n`;
    for (const host of ['localhost', '127.0.0.1:9', '[::1]', 'LAB.example:4000'])
      expect([host, await raw(`Host: ${host}\r\n${token}`)]).toEqual([host, expect.stringMatching(/^HTTP\/1.1 200 /)]);
    for (const host of [
      'evil.example',
      'lab.example.evil.example',
      '0.0.0.0',
      '127.0.0.1.evil.example',
      'localhost@evil.example',
      '',
    ])
      expect([host, await raw(`Host: ${host}\r\n${token}`)]).toEqual([host, expect.stringMatching(/^HTTP\/1.1 421 /)]);
    expect(await raw(`Host: localhost\r\nHost: evil.example\r\n${token}`)).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(`Host: localhost\r\n${token}`, 'http://evil.example/v1/schemas')).toMatch(/^HTTP\/1.1 421 /);
    expect(await raw(`Host: localhost\r\n${token}`, 'http://lab.example/v1/schemas')).toMatch(/^HTTP\/1.1 200 /);
  });

  test('a key has so many requests answered at once, and its others wait with 429 while those of another key go on', async () => {
    const half = `POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${LOCAL.authorization}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[`;
    const open = Array.from({ length: 3 }, () =>
      connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => undefined),
    );
    for (const socket of open) socket.write(half);
    const { key } = await createKey(api.database.db, { name: 'other', scopes: ['read'] });
    let refused: Response | undefined;
    for (let i = 0; i < 500 && refused?.status !== 429; i++)
      refused = await fetch(`${server.url}/v1/schemas`, { headers: LOCAL });
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await status('/v1/schemas', { authorization: `Bearer ${key}` })).toBe(200);
    for (const socket of open) socket.destroy();
    for (let i = 0; i < 500 && (refused?.status ?? 429) === 429; i++)
      refused = await fetch(`${server.url}/v1/schemas`, { headers: LOCAL });
    expect(refused?.status).toBe(200);
  });
});

test('a server off loopback takes no token, and answers to the names that it is given alone', async () => {
  await createKey(api.database.db, { name: 'any', scopes: ['read'] });
  const open = await api.serve({ host: '0.0.0.0', token: async () => LOCAL_TOKEN, hosts: ['lab.example'] });
  const url = open.url.replace('0.0.0.0', '127.0.0.1');
  const ask = (headers: string) => sendRaw(`GET /v1/schemas HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`, url);
  expect(await ask(`Host: lab.example\r\nAuthorization: ${LOCAL.authorization}\r\n`)).toMatch(/^HTTP\/1.1 401 /);
  expect(await ask(`Host: localhost\r\nAuthorization: ${LOCAL.authorization}\r\n`)).toMatch(/^HTTP\/1.1 421 /);
});
