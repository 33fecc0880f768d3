import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { until } from '../../testing/until.ts';
import { openMcpTools } from './mcp-tools.ts';

const SERVER = `mcp:${process.execPath} ${fileURLToPath(new URL('../../testing/mcp/letters-server.mjs', import.meta.url))}`;
const DOT = expect.stringMatching(/^iVBORw0KGgo/);
const signal = new AbortController().signal;

test('the tools of an MCP server are called with their schema, their errors and their end as those of other tools', async () => {
  const tools = await openMcpTools(SERVER, 20_000);
  try {
    const [count, fail, draw, leave] = tools;
    expect(tools.map(({ name }) => name)).toEqual([
      'count_letter',
      'fail',
      'draw',
      'leave',
      'think',
      'hang',
      'compute',
      'pings',
      'pid',
    ]);
    expect(count).toMatchObject({
      description: 'Counts how often a letter occurs in a word.',
      parameters: { type: 'object', required: ['word', 'letter'], properties: { letter: { description: 'One letter' } } },
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await count?.execute({ word: 'berry', letter: 'r' }, signal)).toEqual({ content: '2', success: true });
    expect(await fail?.execute({}, signal)).toEqual({ content: 'it failed', success: false });
    expect(await draw?.execute({}, signal)).toMatchObject({ content: 'a dot\n[image]', success: true, pictures: [DOT] });
    await expect(leave?.execute({}, signal)).rejects.toMatchObject({
      name: 'ToolError',
      message: 'leave: its process ended over this call',
    });
    expect(await count?.execute({ word: 'berry', letter: 'r' }, signal)).toEqual({ content: '2', success: true });
  } finally {
    for (const tool of tools) await tool.close?.();
  }
});

test('a command that hangs is replaced, so that the next call is answered, and one that is only slow over a call is kept', async () => {
  const tools = await openMcpTools(SERVER, 5_000);
  const called = async (name: string, limitMs = 20_000) =>
    tools.find((tool) => tool.name === name)?.execute({}, AbortSignal.timeout(limitMs));
  try {
    const first = await called('pid');
    await expect(called('think', 100)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await called('pid')).toEqual(first);
    await expect(called('compute', 100)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await called('pid')).toEqual(first);
    await expect(called('hang', 100)).rejects.toMatchObject({ name: 'TimeoutError' });
    const { content } = (await called('pid')) as { content: string };
    expect({ content, success: true }).not.toEqual(first);
    expect(content).toMatch(/^\d+$/);
    const { content: pid } = first as { content: string };
    expect(() => process.kill(Number(pid), 0)).toThrow(/ESRCH/);
  } finally {
    for (const tool of tools) await tool.close?.();
  }
});

test('a command is asked whether it answers when a call took too long, and not when nobody waits for a call any more', async () => {
  const tools = await openMcpTools(SERVER, 20_000);
  const called = async (name: string, of = signal) => tools.find((tool) => tool.name === name)?.execute({}, of);
  try {
    const stopped = new AbortController();
    const thinking = called('think', stopped.signal);
    expect(await called('pings')).toMatchObject({ content: '0' });
    stopped.abort(new Error('the run was stopped'));
    await expect(thinking).rejects.toThrow('the run was stopped');
    expect(await called('pings')).toMatchObject({ content: '0' });
    await expect(called('think', AbortSignal.timeout(100))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await called('pings')).toMatchObject({ content: '1' });
  } finally {
    for (const tool of tools) await tool.close?.();
  }
});

test('a tool that the server lacks, and a program that is no server, are refused', async () => {
  await expect(openMcpTools(`${SERVER}#none`, 20_000)).rejects.toThrow(
    'has no tool none; it has count_letter, fail, draw, leave, think, hang, compute, pings, pid',
  );
  await expect(openMcpTools('mcp:true', 20_000)).rejects.toMatchObject({
    name: 'ToolError',
    message: expect.stringContaining('mcp:true does not answer as an MCP server'),
  });
});

/** Serves the tool `now` in sessions, as a server that keeps them in memory does. */
async function serveSessions(port: number, answer: () => Promise<string> = async () => 'noon') {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = createServer(async (req, res) => {
    const id = [req.headers['mcp-session-id']].flat()[0];
    if (id !== undefined && !sessions.has(id)) return res.writeHead(404).end('Session not found');
    const transport =
      sessions.get(id ?? '') ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (created) => void sessions.set(created, transport),
      });
    if (id === undefined) {
      const mcp = new McpServer({ name: 'now', version: '1' });
      mcp.registerTool('now', { description: 'Returns a time.' }, async () => ({
        content: [{ type: 'text', text: await answer() }],
      }));
      await mcp.connect(transport as never);
    }
    return transport.handleRequest(req, res);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port, // a TCP server has one
    forgetSessions: () => sessions.clear(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a session that a server lost when it was started again is initialised again, and the call is answered', async () => {
  const first = await serveSessions(0);
  const [now] = await openMcpTools(`mcp:http://127.0.0.1:${first.port}/mcp#now`, 20_000);
  expect(await now?.execute({}, signal)).toEqual({ content: 'noon', success: true });
  await first.close();
  const asked = now?.execute({}, signal); // while nobody listens
  const second = await serveSessions(first.port);
  try {
    expect(await asked).toEqual({ content: 'noon', success: true });
    expect(await now?.execute({}, signal)).toEqual({ content: 'noon', success: true });
    await now?.close?.();
  } finally {
    await second.close();
  }
});

test('a call that is in flight in a session is answered when another call finds that the server lost it', async () => {
  let release: (() => void) | undefined;
  const server = await serveSessions(0, async () => {
    if (release) return 'noon';
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return 'late';
  });
  try {
    const [now] = await openMcpTools(`mcp:http://127.0.0.1:${server.port}/mcp#now`, 20_000);
    const first = now?.execute({}, signal);
    await until(async () => release !== undefined);
    server.forgetSessions();
    expect(await now?.execute({}, signal)).toEqual({ content: 'noon', success: true });
    release?.();
    expect(await first).toEqual({ content: 'late', success: true });
    await now?.close?.();
  } finally {
    await server.close();
  }
});

test('an MCP server is asked over HTTP too', async () => {
  const server = createServer(async (req, res) => {
    const mcp = new McpServer({ name: 'now', version: '1' });
    mcp.registerTool('now', { description: 'Returns a time.' }, async () => ({ content: [{ type: 'text', text: 'noon' }] }));
    const transport = new StreamableHTTPServerTransport({}); // without sessions: one for each request
    await mcp.connect(transport as never);
    await transport.handleRequest(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const [now] = await openMcpTools(`mcp:http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp#now`, 20_000);
    expect(await now?.execute({}, signal)).toEqual({ content: 'noon', success: true });
    await now?.close?.();
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
