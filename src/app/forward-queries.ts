import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { NodeListener } from '../http/endpoint.ts';
import { json, type Reply, refuse } from '../http/reply.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { rest } from '../runtime/retry.ts';
import { traceHeaders } from '../runtime/tracing.ts';

/** The header that says who asks, behind the secret of who may say so. */
export const PRINCIPAL_HEADER = 'espalier-asked-by';

const ENDING_MS = 1_000;
const NEVER = new AbortController().signal;

/** Passes requests on to the role that answers queries. */
export interface ForwardQueries {
  readonly listener: NodeListener;
  /** Ends the role and what it still answers. */
  close(): Promise<void>;
}

/**
 * Has queries answered by a thread, so that the event loop of the server is free for health, ingest and leases while large
 * answers are computed and written, and so that a query which takes all memory ends that thread alone. It is started by the
 * first query, and again by the next one when it has ended.
 */
export function forwardQueries(start: () => Promise<Running & { readonly url: string | null }>, logger: Logger): ForwardQueries {
  let thread: ReturnType<typeof start> | undefined;

  function running(): ReturnType<typeof start> {
    if (thread) return thread;
    const starting = start();
    thread = starting;
    void starting
      .then((started) => started.finished)
      .catch((error: unknown) => logger.error('the thread of queries ended', { error }))
      .finally(() => {
        if (thread === starting) thread = undefined;
      });
    return starting;
  }

  const listener: NodeListener = async (req, res, { principal }) => {
    const started = await running().catch(() => undefined); // logged where it was started
    if (res.destroyed) return;
    if (!started?.url) return cut(req, res, NOT_STARTED);
    const { username: secret, hostname, port } = new URL(started.url);
    const headers = {
      ...only(FORWARDED, req.headers),
      ...traceHeaders(),
      [PRINCIPAL_HEADER]: `${secret} ${encodeURIComponent(JSON.stringify(principal))}`,
    };
    const asking = request({ hostname, port, method: req.method, path: req.url, headers, agent: false });
    res.once('close', () => asking.destroy());
    asking.once('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, without(OF_CONNECTION, answer.headers));
      pipeline(answer, res, () => undefined); // who broke off is seen by the other
    });
    // The connection breaks a moment before the thread has ended; who asks again then meets the next one.
    const ended = () => Promise.race([started.finished.catch(() => undefined), rest(ENDING_MS, NEVER)]);
    asking.on('error', () => void ended().then(() => cut(req, res, ENDED)));
    req.pipe(asking);
  };

  return {
    listener,
    async close() {
      await thread?.then((started) => started.close()).catch(() => undefined);
    },
  };
}

/** What those that answer queries read of a request; no key or token, which are the API server's to check. */
const FORWARDED = new Set([
  'accept',
  'accept-encoding',
  'content-type',
  'content-length',
  'host',
  'if-range',
  'range',
  'user-agent',
]);
/** What each server says of its own connection. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'trailer']);

function only(names: ReadonlySet<string>, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.has(name)));
}

function without(names: ReadonlySet<string>, headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));
}

const ENDED = [
  'the thread that answers queries ended before the answer',
  'ask for less at once, or try again in a moment',
] as const;
const NOT_STARTED = ['queries cannot be answered now', "try again in a moment; the server's log says why"] as const;

/** Ends an answer that the thread will not finish. */
function cut(req: IncomingMessage, res: ServerResponse, [message, remedy]: readonly [string, string]): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  const headers = { 'retry-after': '1' };
  const ofGraphql = req.url?.startsWith('/graphql') === true; // the others refuse as every endpoint does
  const errors = [{ message: `${message}; ${remedy}`, extensions: { code: 'UNAVAILABLE' } }];
  const reply: Reply = ofGraphql ? json(503, { errors }, headers) : refuse(503, message, remedy, { headers });
  res.writeHead(reply.status, reply.headers).end(reply.body);
}
