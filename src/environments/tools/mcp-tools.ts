import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { sha256Hex } from '../../digest/sha256.ts';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { childEnvironment } from '../../runtime/config.ts';
import { type Tool, ToolError, type ToolResult, ToolUnavailable } from './tool.ts';

/** How an MCP server is named: its address, or the command that starts it and speaks on its standard input and output. */
export const MCP = 'mcp:';

const PROGRAM = { name: 'espalier', version: '1' };
const NAME = /^[\w.-]{1,64}$/;

/**
 * Opens the tools of an MCP server, or the one that is named behind `#`: `mcp:http://127.0.0.1:3000/mcp`, `mcp:npx -y SERVER`.
 * Words of a command are divided by blanks. A call is sent once. @throws ToolError that names the server and what it lacks.
 */
export async function openMcpTools(address: string, timeoutMs: number): Promise<readonly Tool[]> {
  const [place = '', name] = address.slice(MCP.length).split('#');
  const client = await connect(place, timeoutMs).catch((cause: unknown) => {
    throw new ToolError(`${MCP}${place} does not answer as an MCP server: ${wordsOf(cause)}`, { cause });
  });
  try {
    const tools = await listTools(client, timeoutMs);
    const chosen = tools.filter((tool) => name === undefined || tool.name === name);
    if (chosen.length === 0)
      throw new ToolError(
        `${MCP}${place} has no tool${name === undefined ? '' : ` ${name}`}; it has ${tools.map((tool) => tool.name).join(', ') || 'none'}`,
      );
    const { name: server = '', version = '' } = client.getServerVersion() ?? {};
    return chosen.map(({ name: called, description = called, inputSchema }, i): Tool => {
      if (!NAME.test(called))
        throw new ToolError(
          `${MCP}${place}: ${JSON.stringify(called)} is no name that a model can call; 1 to 64 letters, digits, _ . or -`,
        );
      const parameters = { properties: {}, required: [], ...inputSchema } as { readonly [key: string]: Json };
      return {
        name: called,
        description,
        parameters,
        fingerprint: sha256Hex(JSON.stringify([server, version, called, description, parameters])),
        execute: (args, signal) => call(client, called, args, timeoutMs, signal),
        ...(i === 0 ? { close: () => client.close() } : {}), // once for all of them
      };
    });
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function connect(place: string, timeout: number): Promise<Client> {
  const { Client: McpClient } = await import('@modelcontextprotocol/sdk/client/index.js');
  const client = new McpClient(PROGRAM);
  if (/^https?:\/\//.test(place)) {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    await client.connect(new StreamableHTTPClientTransport(new URL(place)) as never, { timeout });
    return client;
  }
  const [command = '', ...args] = place.split(' ').filter((word) => word !== '');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const env = Object.fromEntries(
    Object.entries(childEnvironment({})).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const transport = new StdioClientTransport({ command, args, env, stderr: 'ignore' });
  await client.connect(transport, { timeout }).catch(async (error: unknown) => {
    await transport.close();
    throw error;
  });
  return client;
}

async function listTools(client: Client, timeout: number) {
  const tools = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined && tools.length < 1_000);
  return tools;
}

async function call(client: Client, name: string, args: object, timeout: number, signal: AbortSignal): Promise<ToolResult> {
  const answer = await client
    .callTool({ name, arguments: args as Record<string, unknown> }, undefined, { timeout, signal })
    .catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new ToolUnavailable(`${name}: ${wordsOf(cause)}`, { cause });
    });
  const parts = Array.isArray(answer.content) ? (answer.content as readonly { type: string; text?: string }[]) : [];
  const content = parts.map(({ type, text }) => text ?? `[${type}]`).join('\n');
  return { content, success: answer.isError !== true };
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
