import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { sha256Hex } from '../../digest/sha256.ts';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { childEnvironment } from '../../runtime/config.ts';
import { messageOf } from '../../runtime/message-of.ts';
import { doubling, retry } from '../../runtime/retry.ts';
import { isHttpAddress, sendAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { type Tool, ToolError, type ToolResult, ToolUnavailable } from './tool.ts';

/** How an MCP server is named: its address, or the command that starts it and speaks on its standard input and output. */
export const MCP = 'mcp:';

const PROGRAM = { name: 'espalier', version: '1' };
const NAME = /^[\w.-]{1,64}$/;

/**
 * Opens the tools of an MCP server, or the one that is named behind `#`: `mcp:http://127.0.0.1:3000/mcp`, `mcp:npx -y SERVER`.
 * Words of a command are divided by blanks. A call is sent once, but for one that never reached the server. A command that has
 * ended or hangs is started again, and a session that the server does not know any more is initialised again. @throws ToolError that names
 * the server and what it lacks.
 */
export async function openMcpTools(address: string, timeoutMs: number): Promise<readonly Tool[]> {
  const [place = '', name] = address.slice(MCP.length).split('#');
  const secret = secretInUrl(place);
  if (secret !== null) throw new ToolError(`the address of an MCP server holds ${secret}: ${SECRET_REMEDY}`);
  const { url, headers, hide } = isHttpAddress(place) ? sendAddress(new URL(place)) : { ...NO_ADDRESS };
  const open = () => (url ? connect(url, headers, timeoutMs) : start(place, timeoutMs));
  const client = await open().catch((cause: unknown) => {
    throw new ToolError(`${MCP}${place} does not answer as an MCP server: ${hide(messageOf(cause))}`);
  });
  try {
    const chosen = await describeTools(client, { place, name, timeoutMs });
    const described = JSON.stringify(chosen);
    const reopen = async () => {
      const next = await retry(open, {
        pauseMs: doubling(100, 2_000),
        again: ({ elapsedMs, pauseMs }) => elapsedMs + pauseMs <= PATIENCE_MS,
      });
      try {
        if (JSON.stringify(await describeTools(next, { place, name, timeoutMs })) === described) return next;
        throw new Error(`${MCP}${place} has other tools than when it was opened`);
      } catch (error) {
        await next.close();
        throw error;
      }
    };
    const sessions = keepSession(client, { reopen, server: url ? 'elsewhere' : 'own', timeoutMs });
    return chosen.map((tool, i): Tool => {
      return {
        ...tool,
        execute: (args, signal) => call({ sessions, hide, timeoutMs }, tool.name, args, signal),
        ...(i === 0 ? { close: sessions.close } : {}), // once for all of them
      };
    });
  } catch (error) {
    await client.close();
    throw error;
  }
}

const PATIENCE_MS = 30_000; // a server that is started again takes that long

interface ToolChoice {
  readonly place: string;
  readonly name: string | undefined;
  readonly timeoutMs: number;
}

/** Returns the tools of a server, or the one that is named, as a model is shown them. @throws ToolError for what it lacks. */
async function describeTools(client: Client, { place, name, timeoutMs }: ToolChoice): Promise<readonly Omit<Tool, 'execute'>[]> {
  const tools = await listTools(client, timeoutMs);
  const chosen = tools.filter((tool) => name === undefined || tool.name === name);
  if (chosen.length === 0)
    throw new ToolError(
      `${MCP}${place} has no tool${name === undefined ? '' : ` ${name}`}; it has ${tools.map((tool) => tool.name).join(', ') || 'none'}`,
    );
  const { name: server = '', version = '' } = client.getServerVersion() ?? {};
  return chosen.map(({ name: called, description = called, inputSchema }) => {
    if (!NAME.test(called))
      throw new ToolError(
        `${MCP}${place}: ${JSON.stringify(called)} is no name that a model can call; 1 to 64 letters, digits, _ . or -`,
      );
    const parameters = { properties: {}, required: [], ...inputSchema } as { readonly [key: string]: Json };
    const fingerprint = sha256Hex(JSON.stringify([server, version, called, description, parameters]));
    return { name: called, description, parameters, fingerprint };
  });
}

interface Session {
  readonly client: Client;
  inFlight: number;
  /** How many calls were in flight when the connection was closed; null while it is open. */
  closedWith: number | null;
  /** The server does not know it, or cannot be reached by it any more. */
  isLost: boolean;
  /** The server is asked whether it still answers; calls that come meanwhile wait. */
  ping: Promise<void> | null;
}

interface Sessions {
  /**
   * Sends a call in the current session. One that never reached the server, or whose session went with the server, is sent once more
   * in a new one. A server of our own that answers neither a call in its time nor a ping in as much again, as one does that computes
   * on its event loop, is replaced. @param signal of the call; one that nobody waits for any more says nothing of the server.
   * @throws ToolError when the server's process ended over the call; ToolUnavailable when other calls were in flight as well, or
   * nobody answers.
   */
  send<T>(request: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

interface SessionOptions {
  readonly reopen: () => Promise<Client>;
  /** `own`: this program has started its process, which no one else replaces. */
  readonly server: 'own' | 'elsewhere';
  /** The limit of a call, and of the ping that follows on it. */
  readonly timeoutMs: number;
}

function keepSession(first: Client, { reopen, server, timeoutMs }: SessionOptions): Sessions {
  let closed = false;
  const leaving = new Set<Promise<void>>();
  let current: Promise<Session> = Promise.resolve(sessionOf(first));

  function sessionOf(client: Client): Session {
    const session: Session = { client, inFlight: 0, closedWith: null, isLost: false, ping: null };
    client.onclose = () => {
      session.closedWith = session.inFlight;
    };
    return session;
  }

  async function running(): Promise<Session> {
    const last = await current;
    await last.ping;
    if (last.closedWith === null && !last.isLost) return last;
    const next = current.then(async (latest) => {
      if (latest !== last) return latest; // another call has opened it meanwhile
      if (closed) throw new Error('the environment is closed');
      return sessionOf(await reopen());
    });
    current = next.catch(() => last); // the next call tries again
    return next;
  }

  /** Asks a server that has not answered a call in its time. */
  function suspect(session: Session): Promise<void> {
    session.ping ??= isKnown(session, timeoutMs).then((isKnownStill) => {
      session.isLost ||= !isKnownStill;
      session.ping = null;
    });
    return session.ping;
  }

  function leave({ client }: Session): Promise<void> {
    const closing = client.close().catch(() => undefined);
    leaving.add(closing);
    return closing.finally(() => leaving.delete(closing));
  }

  return {
    async send(request, signal) {
      for (let tries = 1; ; tries++) {
        const session = await running().catch((cause: unknown) => {
          throw new ToolUnavailable(messageOf(cause), { cause });
        });
        session.inFlight++;
        try {
          return await request(session.client);
        } catch (error) {
          if (session.closedWith === 1) throw new ToolError('its process ended over this call', { cause: error });
          if (session.closedWith !== null) throw new ToolUnavailable('its process ended', { cause: error });
          if (server === 'own' && !closed && tookTooLong(error, signal)) await suspect(session);
          if (tries > 1 || !(isUnsent(error) || (brokeOff(error) && !(await isKnown(session, timeoutMs))))) throw error;
          session.isLost = true;
        } finally {
          // A lost session is left to the calls that are in flight in it: closing it would end them.
          if (--session.inFlight === 0 && session.isLost) await leave(session);
        }
      }
    },
    async close() {
      closed = true;
      await Promise.all([...leaving, (await current).client.close()]);
    },
  };
}

/** Whether the connection ended without an answer. */
function brokeOff(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: { code?: unknown } }; // read by field: what fetch throws
  return cause?.code === 'UND_ERR_SOCKET' || cause?.code === 'ECONNRESET';
}

/** Whether the server still holds a session; what a call may have done in a lost one went with it. */
async function isKnown({ client }: Session, timeout: number): Promise<boolean> {
  return client.ping({ timeout }).then(
    () => true,
    () => false,
  );
}

/** Whether a call had no answer in its time; the SDK says the same of one that was stopped. */
function tookTooLong(error: unknown, { aborted, reason }: AbortSignal): boolean {
  const { code } = (error ?? {}) as { code?: unknown }; // read by field: the SDK's McpError, ErrorCode.RequestTimeout
  return code === -32_001 && (!aborted || ((reason ?? {}) as { name?: unknown }).name === 'TimeoutError'); // of AbortSignal.timeout
}

/** Whether a call was not executed: nobody listens at the address, or the server does not know the session, as after a restart. */
function isUnsent(error: unknown): boolean {
  // read by field: what fetch throws, and the SDK's StreamableHTTPError
  const { code, message, cause } = (error ?? {}) as { code?: unknown; message?: unknown; cause?: { code?: unknown } };
  if (cause?.code === 'ECONNREFUSED' || code === 404) return true;
  return code === 400 && /session/i.test(String(message));
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
    for (const tool of page.tools) tools.push(tool);
    cursor = page.nextCursor;
  } while (cursor !== undefined && tools.length < 1_000);
  return tools;
}

interface Called {
  readonly sessions: Sessions;
  readonly hide: (text: string) => string;
  readonly timeoutMs: number;
}

async function call(
  { sessions, hide, timeoutMs: timeout }: Called,
  name: string,
  args: object,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { McpError, ErrorCode } = await import('@modelcontextprotocol/sdk/types.js');
  const asked = { name, arguments: args as Record<string, unknown> };
  const answer = await sessions
    .send((client) => client.callTool(asked, undefined, { timeout, signal }), signal)
    .catch((cause: unknown) => {
      signal.throwIfAborted();
      const reason = `${name}: ${hide(messageOf(cause))}`;
      const isAnswer = cause instanceof McpError && cause.code !== ErrorCode.ConnectionClosed;
      throw isAnswer || cause instanceof ToolError ? new ToolError(reason, { cause }) : new ToolUnavailable(reason, { cause });
    });
  const parts = Array.isArray(answer.content)
    ? (answer.content as readonly { type: string; text?: string; data?: string }[])
    : [];
  const content = hide(parts.map(({ type, text }) => text ?? `[${type}]`).join('\n'));
  const pictures = parts.flatMap(({ type, data }) => (type === 'image' && data !== undefined ? [data] : []));
  return { content, success: answer.isError !== true, ...(pictures.length > 0 ? { pictures } : {}) };
}
