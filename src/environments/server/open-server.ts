import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { liveAgent } from '../http/live-agent.ts';
import type { PythonProcess } from '../http/python-process.ts';
import { abridge, type CallOptions, callServer, isOfAnother, type ServerResponse } from '../http/server-call.ts';
import { address, whole } from '../option-kinds.ts';
import { readPairs } from '../read-address.ts';
import { checkedRenderer } from '../read-renderer.ts';
import { withRestart } from '../with-restart.ts';
import type { EnvironmentServer } from './environment-server.ts';
import { descriptionShape, errorShape, PROTOCOL } from './protocol.ts';
import { openServerEpisode } from './server-episode.ts';

export interface ServerOptions {
  readonly url: string;
  /** The limit for one request, in milliseconds. */
  readonly timeoutMs: number;
  /** For how long an unreachable server is tried again during a run, in milliseconds. Opening tries once. */
  readonly patienceMs?: number;
  /** The process of this program that serves it. */
  readonly process?: PythonProcess;
}

const PATIENCE_MS = 30_000; // a server that is started again takes that long

/**
 * Opens an environment on a server that speaks the protocol `espalier-environment/1`. Who opens it closes it. @throws
 * EnvironmentError `unreachable`, or `protocol` that says what its description lacks.
 */
export async function openServer(options: ServerOptions): Promise<EnvironmentKind> {
  const { url, timeoutMs, patienceMs = PATIENCE_MS, process } = options;
  const baseUrl = new URL(url);
  const agent = liveAgent(baseUrl);
  const calls: CallOptions = { baseUrl, timeoutMs, patienceMs, agent, isOwnWord, process };
  const describe = async (more: Partial<CallOptions>) => {
    const answer = await callServer({ method: 'GET', path: '/', repeat: 'safe' }, { ...calls, patienceMs: 0, ...more });
    return readAnswer(`GET ${baseUrl.href}`, answer, descriptionShape);
  };
  try {
    const description = await describe({});
    process?.onRestart(async (restarted) => {
      const { fingerprint } = await describe({ baseUrl: restarted, process: undefined });
      return fingerprint === description.fingerprint;
    });
    const aliases = description.tasks.map(({ task }) => task);
    if (new Set(aliases).size < aliases.length)
      throw new EnvironmentError('protocol', `GET ${baseUrl.href}: tasks names a task twice; name each once`);
    const server: EnvironmentServer = {
      description,
      baseUrl,
      traits: new Map(description.tasks.map(({ task, ...known }) => [task, known])),
      // every request of the protocol may be sent twice
      ask: async (path, json, shape) =>
        readAnswer(`POST ${path}`, await callServer({ method: 'POST', path, json, repeat: 'safe' }, calls), shape),
    };
    const kind: EnvironmentKind = {
      name: description.name,
      fingerprint: sha256Hex(`${PROTOCOL} ${description.name} ${description.fingerprint}`),
      taskAliases: aliases,
      tasks: description.tasks,
      deterministic: description.deterministic,
      ...(description.fork || description.deterministic ? { unproven: { rate: description.compare } } : {}),
      components: description.components,
      ...(description.renderer === undefined
        ? {}
        : { renderer: checkedRenderer(description.renderer, `GET ${baseUrl.href}: renderer`) }),
      create: async () => openServerEpisode(server),
      ...(description.hints
        ? { withHints: () => ({ ...kind, create: async () => openServerEpisode({ ...server, asksHints: true }) }) }
        : {}),
      close: async () => agent.destroy(),
    };
    return kind;
  } catch (error) {
    agent.destroy();
    throw error;
  }
}

/** An error of the protocol, but for 429, by which a server asks to be asked later. */
function isOwnWord({ status, body }: ServerResponse): boolean {
  if (status === 429) return false;
  try {
    return errorShape.safeParse(JSON.parse(body)).success;
  } catch {
    return false; // of a proxy, in words of its own
  }
}

function readAnswer<Shape extends z.ZodType>(
  what: string,
  { status, body }: { readonly status: number; readonly body: string },
  shape: Shape,
): z.output<Shape> {
  const value = readJson(what, status, body);
  if (status !== 200) {
    const said = errorShape.safeParse(value);
    const message = `${what} answered HTTP ${status}: ${abridge(said.success ? said.data.message : body)}`;
    if (!said.success) throw new EnvironmentError(isOfAnother({ status, body }) ? 'backend' : 'protocol', message);
    if (said.data.error === 'invalid') throw new EnvironmentError('protocol', message);
    throw new EnvironmentError(said.data.error, message, { retryable: said.data.error === 'gone' });
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') || 'the answer';
  throw new EnvironmentError(
    'protocol',
    `${what}: ${field} ${issue?.message ?? 'does not fit'}, where a server of ${PROTOCOL} answers otherwise: ${abridge(body)}; docs/guides/add-an-environment.md has the shapes`,
  );
}

function readJson(what: string, status: number, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new EnvironmentError(
      isOfAnother({ status, body }) ? 'backend' : 'protocol',
      `${what} answered HTTP ${status} without JSON: ${abridge(body)}; see that the address is that of a server of ${PROTOCOL}`,
      { cause },
    );
  }
}

/** An environment on a server of the user's, as in `server:http://127.0.0.1:8900`. */
export const environmentServer = defineEnvironment({
  name: 'server',
  summary: `your own, from a server of the protocol ${PROTOCOL}, such as espalier_rl.serve starts in Python`,
  options: z.strictObject({
    url: address('the address of the server'),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(300),
  }),
  syntax: {
    form: 'server:URL[;timeout=SECONDS]',
    read: (rest) => {
      const [url = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), url };
    },
  },
  open: async ({ url, timeout }) => withRestart(await openServer({ url, timeoutMs: timeout * 1_000 })),
});
