import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { openEnvironment } from './open-environment.ts';
import { PROTOCOL } from './server/protocol.ts';

const KEY = 'key-of-the-server';
const own = process.env;
const servers: Server[] = [];
afterEach(async () => {
  process.env = own;
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

test.each([
  'server:https://me:hunter22@host',
  'agentgym:sciworld@https://me:hunter22@host#0-3',
  'tool-env:retriever=https://host/retrieve?token=hunter22',
  'tool-env:tools=https://me:hunter22@host',
  'tool-env:tools=mcp:https://me:hunter22@host',
  'tool-env:tools=python;sandbox=https://me:hunter22@host',
])('an address that holds a secret is refused with the way to name it, and is not shown: %s', async (address) => {
  const message = await openEnvironment(address).then(String, (error: Error) => error.message);
  expect(message).toMatch(/holds (a user name or a password|the parameter token): .*secret:NAME@host.*ESPALIER_SECRET_NAME/);
  expect(message).not.toContain('hunter22');
});

describe('a server that asks for a key', () => {
  /** Serves an answer to who shows the key, and repeats the key to everybody else. @returns host and port. */
  async function serve(answer: unknown): Promise<string> {
    const server = createServer((request, response) => {
      const shown = request.headers.authorization === `Bearer ${KEY}` || request.url?.includes(`token=${KEY}`);
      response.writeHead(shown ? 200 : 403, { 'content-type': 'application/json', connection: 'close' });
      response.end(shown ? JSON.stringify(answer) : `${request.url} needs ${KEY}`);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server that listens has one
  }
  const countdown = { protocol: PROTOCOL, name: 'countdown', fingerprint: '1', tasks: [{ task: '3' }] };
  const tools = {
    protocol: 'espalier-tools/1',
    fingerprint: '1',
    tools: [{ name: 'look', description: `looks, and says ${KEY}` }],
  };
  const found = { result: Array.from({ length: 3 }, () => [{ document: { id: '1', contents: `text ${KEY}` }, score: 1 }]) };
  const name = (key: string) => {
    process.env = { ...own, ESPALIER_SECRET_SERVER: key };
  };

  test.each([
    ['an environment', countdown, (at: string) => `server:http://secret:SERVER@${at}`],
    ['an environment whose address is a secret', countdown, () => 'server:secret:SERVER'],
    ['tools', tools, (at: string) => `tool-env:tools=http://secret:SERVER@${at}`],
    ['documents', found, (at: string) => `tool-env:dialect=queries;retriever=http://secret:SERVER@${at}`],
    ['documents, by a parameter', found, (at: string) => `tool-env:dialect=queries;retriever=http://${at}/x?token=secret:SERVER`],
  ])('the name of the key opens it: %s', async (_, answer, address) => {
    const at = await serve(answer);
    name(address(at).endsWith('server:secret:SERVER') ? `http://${at}?token=${KEY}` : KEY);
    const kind = await openEnvironment(address(at));
    await kind.close();
  });

  test('its refusal of a key hides the secret and a secret address', async () => {
    const at = await serve(countdown);
    name(`${KEY}-of-yesterday`);
    await expect(openEnvironment(`server:http://secret:SERVER@${at}`)).rejects.toThrow('HTTP 403');
    name(KEY.toUpperCase());
    await expect(openEnvironment('tool-env:tools=secret:SERVER')).rejects.toThrow('is no http URL');
    name(`http://${at}/elsewhere`);
    const message = await openEnvironment('server:secret:SERVER').then(String, (error: Error) => error.message);
    expect(message).toContain('answered HTTP 403 without JSON');
    expect(message).not.toContain(at);
  });
});
