import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../testing/event-builder.ts';
import { answerClientError } from './answer-client-error.ts';
import { openTestApi, type TestApi } from './http-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

/** Sends bytes on a connection of their own; returns all that comes back until the server ends it. */
function send(bytes: string, url = api.server.url): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => undefined).once('close', () => resolve(received));
    socket.write(bytes);
  });
}

test.each([
  ['no HTTP', 'hello\r\n\r\n', 400, 'invalid', /no HTTP request/],
  [
    'a length that is none',
    'POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
    400,
    'invalid',
    /no HTTP request/,
  ],
  ['too many headers', `GET / HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(10_000)}\r\n`, 431, 'headers-too-large', /16 KiB/],
])('%s is refused with code, reason and remedy', async (_name, bytes, status, code, message) => {
  const received = await send(bytes);
  expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  const { error } = JSON.parse(received.split('\r\n\r\n')[1] ?? '');
  expect(error).toEqual({ code, message: expect.stringMatching(message), remedy: expect.any(String) });
});

test('a complete event is answered before the garbage that follows it ends the connection', async () => {
  const builder = new EventBuilder('garbage');
  builder.run();
  const body = JSON.stringify(builder.events[0]);
  const head = `POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const received = await send(`${head}${body}garbage\r\n\r\n`);
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toContain('"appended":1');
  expect(await api.records()).toBe(1);
});

test('garbage after a request in flight is not read, and the connection ends with the answer', () => {
  const socket = new Socket();
  const req = Object.assign(new IncomingMessage(socket), { complete: true });
  const res = Object.assign(new ServerResponse(req), { shouldKeepAlive: true });
  const before = res.listenerCount('close');
  for (let i = 0; i < 50; i++) answerClientError(new Error('garbage'), socket, [res]);
  expect([res.listenerCount('close') - before, socket.isPaused(), res.shouldKeepAlive]).toEqual([1, true, false]);
  socket.destroy();
});

test('an invalid Host is refused before an address is built from it', async () => {
  const { url } = await api.serve({ api: { queries: (_req, res) => res.end('answered') } });
  const ask = (host: string) => send(`GET /graphql HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, url);
  expect(await ask('localhost:1')).toContain('answered');
  const received = await ask('127.0.0.1:99999');
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received).toContain('the header Host is no host');
});
