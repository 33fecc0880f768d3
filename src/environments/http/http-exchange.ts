import { type Agent, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { retryAfterMs } from '../../runtime/retry-after.ts';
import { sendAddress } from '../../runtime/secret-address.ts';
import { watchEnds } from './live-agent.ts';

/**
 * What became of one HTTP request. `restMs`: for how long the server asks to be left alone (`Retry-After`), null when it does
 * not.
 */
export type Exchange =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string; readonly restMs: number | null }
  /** It never left: nobody listens there, or the name is unknown. Safe to send again, whatever it asks for. */
  | { readonly kind: 'unsent'; readonly cause: Error }
  /** It left, and the connection broke before the whole answer was here: whether the server acted is unknown. */
  | { readonly kind: 'broken'; readonly cause: Error }
  /** The answer was not here in time: whether the server acts, or will, is unknown. */
  | { readonly kind: 'late' }
  /** The server acted, and its answer has more than so many bytes. */
  | { readonly kind: 'too-long'; readonly limit: number };

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** Secrets by name are resolved here, and hidden in what comes back. */
  readonly url: URL;
  /** Sent as JSON; no body when undefined. */
  readonly json: unknown;
  /** The limit for everything, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** Keeps connections open between requests; without it every request has a connection of its own. */
  readonly agent?: Agent | undefined;
}

const ANSWER_LIMIT = 16 * 1024 * 1024; // bytes; the largest real answer, Wordle's vocabulary, has 0.1 % of it

/**
 * Sends one request and waits for the whole answer. Without an agent every request has a connection of its own; with one, none is
 * sent on a connection that the server is seen to have closed, since that could not be distinguished from a server that died over
 * the request. `fetch` gives up on a slow answer after 300 s, where a ScienceWorld or WebArena step may be given more.
 */
export async function exchange(request: HttpRequest): Promise<Exchange> {
  if (request.agent) await watchEnds();
  return send(request);
}

function send({ method, url: shown, json, timeoutMs, agent }: HttpRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    const { url, headers: key, hide } = sendAddress(shown);
    const payload = json === undefined ? undefined : Buffer.from(JSON.stringify(json), 'utf8');
    const headers = {
      accept: 'application/json',
      ...key,
      ...(agent ? {} : { connection: 'close' }),
      ...(payload ? { 'content-type': 'application/json', 'content-length': payload.length } : {}),
    };
    const begin = url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = begin(url, { method, headers, agent: agent ?? false });
    let connected = false;

    const end = (result: Exchange): void => {
      clearTimeout(limit);
      resolve(result);
      if (!agent || result.kind !== 'answered') sent.destroy(); // a kept connection goes back to its agent
    };
    const fail = (cause: Error): void => end({ kind: connected ? 'broken' : 'unsent', cause: hidden(cause, hide) });
    const limit = setTimeout(
      () => end(connected ? { kind: 'late' } : { kind: 'unsent', cause: noConnection(timeoutMs) }),
      timeoutMs,
    );

    sent.on('socket', (socket) => {
      connected = sent.reusedSocket;
      if (connected) return;
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        connected = true;
      });
    });
    sent.on('error', fail); // also what follows a destroy: by then the promise has its answer
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > ANSWER_LIMIT) end({ kind: 'too-long', limit: ANSWER_LIMIT });
      });
      response.on('error', fail);
      response.on('aborted', () => fail(new Error('the connection was closed within the answer')));
      response.on('end', () => {
        const header = (name: string) => [response.headers[name]].flat()[0];
        const restMs = retryAfterMs(header, Date.now());
        end({ kind: 'answered', status: response.statusCode ?? 0, body: hide(Buffer.concat(chunks).toString('utf8')), restMs });
      });
    });
    sent.end(payload);
  });
}

/** A refused connection to a name with several addresses has an empty message and carries its reasons in `errors`. */
function hidden(cause: Error, hide: (text: string) => string): Error {
  const [first] = cause instanceof AggregateError ? cause.errors : [];
  const message = first instanceof Error ? first.message : cause.message;
  return hide(message) === message ? cause : new Error(hide(message));
}

function noConnection(timeoutMs: number): Error {
  return new Error(`no connection within ${timeoutMs} ms`);
}
