import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { openToolServer, TOOLS_PROTOCOL } from './tool-server.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
const tool = { name: 'double', description: 'Doubles a number.', parameters: { properties: { n: { type: 'integer' } } } };
const list = { protocol: TOOLS_PROTOCOL, fingerprint: 'f1', tools: [tool, { name: 'other', description: 'Does nothing.' }] };

async function serve(call: { status?: number; body: unknown }, listed: unknown = list): Promise<string> {
  const server = createServer((req, res) => {
    const { status = 200, body } = req.url === '/tools' ? { body: listed } : call;
    req.resume().on('end', () => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const signal = new AbortController().signal;

test('a server brings all of its tools, or the one that is named', async () => {
  const url = await serve({ body: { content: '4', success: true, reward: 0.1 } });
  const [double, other] = await openToolServer(url, 1_000);
  expect(double).toMatchObject({ ...tool, fingerprint: 'f1 double', parameters: { type: 'object', required: [] } });
  expect(other?.name).toBe('other');
  expect(await double?.execute({ n: 2 }, signal)).toEqual({ content: '4', success: true, reward: 0.1 });
  expect((await openToolServer(`${url}#other`, 1_000)).map(({ name }) => name)).toEqual(['other']);
});

test.each<[string, unknown, string]>([
  ['HTML', '<html>', 'without JSON: <html>'],
  ['another protocol', { ...list, protocol: 'mcp' }, 'protocol Invalid input'],
  ['a tool without a description', { ...list, tools: [{ name: 'a' }] }, 'tools.0.description'],
  ['a name that no model can call', { ...list, tools: [{ name: 'a b', description: 'd' }] }, 'must be 1 to 64 letters'],
])('a server that lists %s is refused by field', async (_what, listed, message) => {
  await expect(openToolServer(await serve({ body: {} }, listed), 1_000)).rejects.toMatchObject({
    name: 'ToolError',
    message: expect.stringContaining(message),
  });
});

test('a tool that the server lacks is refused with those that it has', async () => {
  await expect(openToolServer(`${await serve({ body: {} })}#triple`, 1_000)).rejects.toThrow(
    'has no tool triple; it has double, other',
  );
});

test.each<[string, { status?: number; body: unknown }, string]>([
  [
    'is longer than the transport takes',
    { body: { content: 'x'.repeat(17_000_000) } },
    '/call answered more than 16777216 bytes',
  ],
  ['is longer than a result may be', { body: { content: 'x'.repeat(4_000_001) } }, 'double: content Too big'],
  ['holds NaN', { body: '{"content": "4", "reward": NaN}' }, 'double answered HTTP 200 without JSON'],
  ['says that the call failed', { status: 500, body: { error: 'failed', message: 'no reward' } }, 'double: no reward'],
])('a call whose answer %s has failed, and its reason shows no address', async (_what, answer, message) => {
  const [double] = await openToolServer(await serve(answer), 20_000);
  const failure = double?.execute({ n: 2 }, signal);
  await expect(failure).rejects.toMatchObject({ name: 'ToolError', message: expect.stringContaining(message) });
  await expect(failure).rejects.not.toThrow('127.0.0.1');
});

test.each([
  [{ status: 500, body: { error: 'backend', message: 'away' } }, { name: 'ToolUnavailable' }],
  [
    { status: 500, body: { detail: 'a fault' } },
    { name: 'EnvironmentError', code: 'failed' },
  ],
])('a call that the server fails to answer by %j says nothing of the model', async (answer, thrown) => {
  const [double] = await openToolServer(await serve(answer), 1_000);
  await expect(double?.execute({ n: 2 }, signal)).rejects.toMatchObject(thrown);
});
