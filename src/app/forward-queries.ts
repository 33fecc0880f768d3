import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { NodeListener } from '../http/endpoint.ts';
import { json, type Reply, refuse } from '../http/reply.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { rest } from '../runtime/retry.ts';

/** The header that says who asks, behind the secret of who may say so. */
export const ASKED_BY = 'espalier-asked-by';

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
    const started = await running().catch(() => undefined);
    if (res.destroyed) return;
    if (!started?.url) return cut(req, res);
    const { username: secret, hostname, port } = new URL(started.url);
    const headers = {
      ...ofMessage(req),
      [ASKED_BY]: `${secret} ${encodeURIComponent(JSON.stringify(principal))}`,
    };
    const asking = request({ hostname, port, method: req.method, path: req.url, headers, agent: false });
    res.once('close', () => asking.destroy());
    asking.once('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, ofMessage(answer));
      pipeline(answer, res, () => undefined); // who broke off is seen by the other
    });
    // The connection breaks a moment before the thread has ended; who asks again then meets the next one.
    const ended = () => Promise.race([started.finished.catch(() => undefined), rest(ENDING_MS, NEVER)]);
    asking.on('error', () => void ended().then(() => cut(req, res)));
    req.pipe(asking);
  };

  return {
    listener,
    async close() {
      await thread?.then((started) => started.close()).catch(() => undefined);
    },
  };
}

/** Returns the headers of a message without those of its connection. */
function ofMessage({ headers }: IncomingMessage): IncomingHttpHeaders {
  const { connection: _connection, 'keep-alive': _keepAlive, expect: _expect, upgrade: _upgrade, ...kept } = headers;
  return kept;
}

/** Ends an answer that the thread will not finish. */
function cut(req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  const message = 'the thread that answers queries ended before the answer';
  const remedy = 'ask for less at once, or try again in a moment';
  const headers = { 'retry-after': '1' };
  const ofGraphql = req.url?.startsWith('/graphql') === true; // the others refuse as every endpoint does
  const errors = [{ message: `${message}; ${remedy}`, extensions: { code: 'UNAVAILABLE' } }];
  const reply: Reply = ofGraphql ? json(503, { errors }, headers) : refuse(503, message, remedy, { headers });
  res.writeHead(reply.status, reply.headers).end(reply.body);
}
