import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { sha256Hex } from '../../digest/sha256.ts';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { childEnvironment } from '../../runtime/config.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
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
  const secret = secretInUrl(place);
  if (secret !== null) throw new ToolError(`the address of an MCP server holds ${secret}: ${SECRET_REMEDY}`);
  const { url, headers, hide } = isHttpAddress(place) ? sendAddress(new URL(place)) : { ...NO_ADDRESS };
  const client = await (url ? connect(url, headers, timeoutMs) : start(place, timeoutMs)).catch((cause: unknown) => {
    throw new ToolError(`${MCP}${place} does not answer as an MCP server: ${hide(wordsOf(cause))}`);
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
        execute: (args, signal) => call({ client, hide, timeoutMs }, called, args, signal),
        ...(i === 0 ? { close: () => client.close() } : {}), // once for all of them
      };
    });
  } catch (error) {
    await client.close();
    throw error;
  }
}

const NO_ADDRESS = { url: null, headers: {}, hide: (text: string) => text };

async function connect(url: URL, headers: Readonly<Record<string, string>>, timeout: number): Promise<Client> {
  const { Client: McpClient } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const client = new McpClient(PROGRAM);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never, { timeout });
  return client;
}

async function start(commandLine: string, timeout: number): Promise<Client> {
  const { Client: McpClient } = await import('@modelcontextprotocol/sdk/client/index.js');
  const client = new McpClient(PROGRAM);
  const [command = '', ...args] = commandLine.split(' ').filter((word) => word !== '');
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

interface Called {
  readonly client: Client;
  readonly hide: (text: string) => string;
  readonly timeoutMs: number;
}

async function call(
  { client, hide, timeoutMs: timeout }: Called,
  name: string,
  args: object,
  signal: AbortSignal,
): Promise<ToolResult> {
  const answer = await client
    .callTool({ name, arguments: args as Record<string, unknown> }, undefined, { timeout, signal })
    .catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new ToolUnavailable(`${name}: ${hide(wordsOf(cause))}`);
    });
  const parts = Array.isArray(answer.content)
    ? (answer.content as readonly { type: string; text?: string; data?: string }[])
    : [];
  const content = hide(parts.map(({ type, text }) => text ?? `[${type}]`).join('\n'));
  const pictures = parts.flatMap(({ type, data }) => (type === 'image' && data !== undefined ? [data] : []));
  return { content, success: answer.isError !== true, ...(pictures.length > 0 ? { pictures } : {}) };
}

function wordsOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
