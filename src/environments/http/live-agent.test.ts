import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { exchange } from './http-exchange.ts';
import { liveAgent } from './live-agent.ts';

const sockets: Socket[] = [];
let requests = 0;
const server = createServer((_, response) => {
  requests++;
  response.end('{}');
});
server.on('connection', (socket) => sockets.push(socket));
await once(server.listen(0, '127.0.0.1'), 'listening');
const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/step`); // a TCP server that listens has one
const agent = liveAgent(url);
const ask = () => exchange({ method: 'POST', url, json: {}, timeoutMs: 5_000, agent });
afterEach(async () => {
  agent.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('connections that are kept', () => {
  test('requests share a connection, and none is sent on one that the server has closed', async () => {
    await ask();
    await ask();
    expect(sockets).toHaveLength(1);
    const [kept] = sockets;
    const closed = kept && once(kept, 'close');
    kept?.destroy();
    await closed;
    expect(await ask()).toMatchObject({ kind: 'answered' });
    expect({ connections: sockets.length, requests }).toEqual({ connections: 2, requests: 3 });
  });
});
