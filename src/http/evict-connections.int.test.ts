import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKey } from '../postgres/keys.ts';
import { until } from '../testing/until.ts';
import { openTestApi, sendRaw, type TestApi } from './http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.project();
});
afterAll(() => api.close());

describe('connections beyond the limit', () => {
  const opened = async (url: string, text = '', localAddress = '127.0.0.1') => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('utf8');
    });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
    return { socket, closed, received: () => received };
  };
  const half = 'POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n{';
  const whole = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

  test('idle connections are evicted, the longest idle first, with the reason', async () => {
    const { url } = await api.serve({ connections: 3 });
    const silent: Awaited<ReturnType<typeof opened>>[] = [];
    for (let i = 0; i < 5; i++) silent.push(await opened(url));
    for (const { closed } of silent.slice(0, 2)) expect(await closed).toMatch(/^HTTP\/1.1 503 .*"code":"unavailable"/s);
    expect(await sendRaw(whole.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), url)).toMatch(/^HTTP\/1.1 200/);
    expect(await silent[2]?.closed).toMatch(/^HTTP\/1.1 503/);
    expect(silent[4]?.socket.destroyed).toBe(false);
    for (const { socket } of silent) socket.destroy();
  });

  test('a connection between two requests is evicted silently before one whose body is arriving', async () => {
    const { url } = await api.serve({ connections: 2, api: { graphql: (_, res) => res.end('taken') } });
    const body = await opened(url, half);
    const resting = await opened(url, whole);
    await until(async () => resting.received().includes('200 OK'));
    const answered = resting.received();
    const third = await opened(url, whole);
    expect(await resting.closed).toBe(answered);
    body.socket.write('   ');
    await until(async () => body.received().startsWith('HTTP/1.1 200'));
    for (const { socket } of [body, third]) socket.destroy();
  });

  test('a complete request in flight is never cut; where every connection has one, the new one is asked to come again', async () => {
    const asked: ServerResponse[] = [];
    const { url } = await api.serve({ connections: 1, api: { graphql: (_, res) => void asked.push(res) } });
    const inFlight = await opened(url, `${half}   `);
    await until(async () => asked.length === 1);
    expect(await (await opened(url)).closed).toMatch(/^HTTP\/1.1 503/);
    asked[0]?.end('done');
    await until(async () => inFlight.received().endsWith('done'));
    inFlight.socket.destroy();
  });

  test('a client that does not read its answer is evicted', async () => {
    const big = Buffer.alloc(64 * 1_048_576);
    const { url } = await api.serve({ connections: 1, api: { graphql: (_, res) => res.end(big) } });
    const unread = await opened(url);
    unread.socket.pause();
    unread.socket.write(`${half}   `);
    await until(async () =>
      (await sendRaw(whole.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), url)).startsWith('HTTP/1.1 200'),
    );
    unread.socket.destroy();
  });

  test('an address that has all of its connections loses one of its own, and other addresses keep theirs', async () => {
    await createKey(api.database.db, { name: 'any', scopes: ['read'] });
    const { url } = await api.serve({ host: '0.0.0.0', connections: 10, connectionsPerAddress: 2 });
    const other = await opened(url, '', '127.0.0.2'); // the longest idle of all
    const own = [await opened(url), await opened(url), await opened(url)];
    expect(await own[0]?.closed).toMatch(/^HTTP\/1.1 503 .*"code":"unavailable"/s);
    other.socket.write(whole);
    await until(async () => other.received().startsWith('HTTP/1.1 200'));
    for (const { socket } of [other, ...own]) socket.destroy();
  });
});
