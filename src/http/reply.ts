import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';

/** What a route answers. Refusals are replies too: a value, not a throw. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts are sent one after the other, as the client reads. */
  readonly body: string | Uint8Array | readonly Uint8Array[];
}

/** One thing wrong with one event of a request: which event, which field, why, and what to do. */
export interface Problem {
  readonly index: number;
  readonly id?: string;
  readonly path: string;
  readonly message: string;
  readonly remedy?: string;
}

/** Answers a JSON value. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: `${JSON.stringify(value)}\n`,
  };
}

/** Answers plain text. */
export function text(status: number, body: string, contentType = 'text/plain; charset=utf-8'): Reply {
  return { status, headers: { 'content-type': contentType }, body };
}

/** What a program decides by, for each status that we refuse with. */
const CODES: Readonly<Record<number, string>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  408: 'too-slow',
  409: 'conflict',
  411: 'length-required',
  413: 'too-large',
  415: 'media-type',
  417: 'expectation',
  421: 'misdirected',
  422: 'unprocessable',
  429: 'busy',
  431: 'headers-too-large',
  500: 'fault',
  503: 'unavailable',
};

/**
 * Answers a refusal: `{error: {code, message, remedy, problems?}}`, at most twenty problems. The code says no more than the
 * status does.
 */
export function refuse(
  status: number,
  message: string,
  remedy: string,
  {
    problems,
    headers = {},
  }: { readonly problems?: readonly Problem[]; readonly headers?: Readonly<Record<string, string>> } = {},
): Reply {
  const more = problems === undefined ? {} : { problems: problems.slice(0, PROBLEM_LIMIT) };
  return json(status, { error: { code: CODES[status] ?? String(status), message, remedy, ...more } }, headers);
}

export const PROBLEM_LIMIT = 20;

const SAFE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** Writes a reply, unless the client is gone or something was already written. HEAD gets the headers alone. */
export function send(res: ServerResponse, reply: Reply): void {
  if (res.headersSent || res.destroyed) return;
  // A 304 has no body of its own, and a length would be taken for that of the one that is kept (RFC 9110 §8.6).
  const length = reply.status === 304 ? {} : { 'content-length': lengthOf(reply.body) };
  res.writeHead(reply.status, { ...SAFE_HEADERS, ...reply.headers, ...length });
  if (res.req.method === 'HEAD') return void res.end();
  if (typeof reply.body === 'string' || ArrayBuffer.isView(reply.body)) return void res.end(reply.body);
  // A client that goes away while it reads ends both; that is not news.
  pipeline(Readable.from(slicesOf(reply.body)), res, () => undefined);
}

function lengthOf(body: Reply['body']): number {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return Buffer.byteLength(body);
  return body.reduce((sum, part) => sum + part.byteLength, 0);
}

const SLICE = 256 * 1024; // bytes of one write: a slow client is seen to move

function* slicesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) for (let at = 0; at < part.byteLength; at += SLICE) yield part.subarray(at, at + SLICE);
}
