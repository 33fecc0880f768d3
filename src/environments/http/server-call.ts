import type { Agent } from 'node:http';
import { cutText } from '../../domain/text/cut-text.ts';
import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { doubling, retry } from '../../runtime/retry.ts';
import { EnvironmentError } from '../environment.ts';
import { type Exchange, exchange } from './http-exchange.ts';
import type { PythonProcess } from './python-process.ts';

export interface CallOptions {
  readonly baseUrl: URL;
  /** The process of this program that answers, wherever it listens: messages name it in place of the address. */
  readonly process?: PythonProcess | undefined;
  /** The limit for one request in milliseconds. */
  readonly timeoutMs: number;
  /** For how long a server that cannot be reached is tried again, in milliseconds: restarts of a server take that long. */
  readonly patienceMs: number;
  /** Keeps connections open between requests, for servers whose requests may all be sent twice. */
  readonly agent?: Agent | undefined;
  /** Whether an answer is the server's own word on the request, though its status is one of a busy server or of a proxy. */
  readonly isOwnWord?: (answer: ServerResponse) => boolean;
}

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Path and query below the base URL, `/step`. */
  readonly path: string;
  readonly json?: unknown;
  /**
   * Whether sending it twice does what sending it once does. A step is `unsafe`: a request that may have been executed is never
   * repeated.
   */
  readonly repeat: 'safe' | 'unsafe';
}

/** What a server that is there said. */
export interface ServerResponse {
  readonly status: number;
  readonly body: string;
}

const pauseOf = doubling(100, 2_000);
const BROKEN_LIMIT = 3; // tries of a repeatable request whose connection breaks: a server that dies over it dies again

const PUT_OFF = new Set([408, 425, 429, 503]); // the server did not act, and may later
const CUT_OFF = new Set([502, 504]); // of a proxy: whether the server behind it acted is unknown

/**
 * Calls a server. What never reached it is tried again while patience lasts, and so is what it put off (408, 425, 429, 503), not
 * before the pause that it asks for is over; a broken connection, or a proxy that lost its server (502, 504), is tried again only
 * where that is safe.
 * @throws EnvironmentError `unreachable` when nobody answers in time (retryable); `gone` when an unsafe request was cut off, so
 * that the episode's state is unknown (retryable: on a fresh environment); of a process of ours `lost` in place of both;
 * `failed` for an answer that is too long.
 */
export function callServer(call: Call, options: CallOptions): Promise<ServerResponse> {
  const { process } = options;
  return process ? process.ask((baseUrl) => send(call, { ...options, baseUrl })) : send(call, options);
}

function send(call: Call, options: CallOptions): Promise<ServerResponse> {
  const url = urlOf(options.baseUrl, call.path);
  let [broken, mayRepeat, restMs] = [0, false, 0];
  const ask = async (): Promise<ServerResponse> => {
    const result = await exchange({
      method: call.method,
      url,
      json: call.json,
      timeoutMs: options.timeoutMs,
      agent: options.agent,
    });
    if (result.kind === 'answered' && (isFinal(result) || options.isOwnWord?.(result))) return result;
    const isBroken = result.kind === 'broken' || (result.kind === 'answered' && CUT_OFF.has(result.status));
    if (isBroken) broken++;
    mayRepeat = isBroken ? call.repeat === 'safe' && broken < BROKEN_LIMIT : result.kind !== 'late' && result.kind !== 'too-long';
    restMs = result.kind === 'answered' ? (result.restMs ?? 0) : 0;
    throw failure(call, url, options, result);
  };
  return retry(ask, {
    pauseMs: (tries) => Math.max(pauseOf(tries), restMs),
    again: ({ elapsedMs, pauseMs }) => mayRepeat && elapsedMs + pauseMs <= options.patienceMs,
  });
}

const isFinal = ({ status }: ServerResponse) => !PUT_OFF.has(status) && !CUT_OFF.has(status);

/** Appends a path to a base URL that may have a path of its own, a key by name, or be one as a whole. */
function urlOf(baseUrl: URL, path: string): URL {
  if (baseUrl.protocol === 'secret:') return new URL(`${baseUrl.href}${path}`);
  const url = new URL(`${baseUrl.origin}${withoutSlashes(baseUrl.pathname)}${path}`);
  url.username = baseUrl.username;
  url.password = baseUrl.password;
  for (const [name, value] of baseUrl.searchParams) url.searchParams.append(name, value);
  return url;
}

const NOT_ITS_OWN: ReadonlySet<number> = new Set([301, 302, 303, 307, 308, 401, 403, 404, 405, 407]);

/**
 * Whether somebody else answers where an environment should: a proxy, a page to log in, a server without the route. That says nothing
 * of a task: what was asked can be asked again when the server is there.
 */
export function isOfAnother({ status, body }: Pick<ServerResponse, 'status' | 'body'>): boolean {
  return NOT_ITS_OWN.has(status) || (status === 200 && /^\s*</.test(body));
}

/** Reads the JSON of an answer with status 200. @throws EnvironmentError `protocol` or `backend` that names what came instead. */
export function jsonOf(what: string, { status, body }: ServerResponse): unknown {
  const code = isOfAnother({ status, body }) ? 'backend' : 'protocol';
  if (status !== 200)
    throw new EnvironmentError(
      code,
      `${what} answered HTTP ${status}: ${abridge(body)}; see that the address is that of the server`,
    );
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new EnvironmentError(
      code,
      `${what} did not answer JSON but ${abridge(body)}; see that the address is that of the server, and not of a proxy or a page`,
      { cause },
    );
  }
}

function failure(call: Call, url: URL, options: CallOptions, result: Exchange): EnvironmentError {
  const what = options.process ? `${call.path} of ${options.process.name}` : `${call.method} ${url}`;
  switch (result.kind) {
    case 'answered':
      if (CUT_OFF.has(result.status) && call.repeat === 'unsafe')
        return new EnvironmentError(
          'gone',
          `${what} answered HTTP ${result.status}, so whether it was executed is unknown: ${abridge(result.body)}`,
          { retryable: true },
        );
      return new EnvironmentError(
        'unreachable',
        `${what} is put off: HTTP ${result.status}, ${abridge(result.body)}; ask for fewer at a time (--concurrency)`,
        {
          retryable: true,
        },
      );
    case 'unsent':
      return new EnvironmentError(
        'unreachable',
        options.process
          ? `cannot reach the process of ${options.process.name}`
          : `cannot reach ${url.protocol === 'secret:' ? options.baseUrl.href : url.origin}: ${reasonOf(result.cause)}; see that the server runs there`,
        {
          retryable: true,
          cause: result.cause,
        },
      );
    case 'late':
      return new EnvironmentError(
        'unreachable',
        `${what} has not answered within ${options.timeoutMs} ms; see what it waits for there, or allow it longer by the option timeout`,
        { retryable: true },
      );
    case 'too-long':
      return new EnvironmentError('failed', `${call.path} answered more than ${result.limit} bytes, which is the limit`);
    case 'broken':
      return call.repeat === 'safe'
        ? new EnvironmentError('unreachable', `${what} broke off: ${reasonOf(result.cause)}`, {
            retryable: true,
            cause: result.cause,
          })
        : new EnvironmentError('gone', `${what} broke off, so whether it was executed is unknown: ${reasonOf(result.cause)}`, {
            retryable: true,
            cause: result.cause,
          });
    default:
      return result satisfies never;
  }
}

/** A refused connection to a name with several addresses has an empty message and carries its reasons in `errors`. */
function reasonOf(cause: Error): string {
  const [first] = cause instanceof AggregateError ? cause.errors : [];
  return first instanceof Error ? first.message : cause.message;
}

/** Shortens what a server said to what a message can hold. */
export function abridge(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line || 'nothing' : `${cutText(line, 300)}…`;
}
