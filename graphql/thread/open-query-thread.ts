import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { EventLog } from '../../src/log/event-log.ts';
import type { Fields, Logger } from '../../src/runtime/logger.ts';
import type { Annotate, Annotated } from '../../src/usecases/annotate/annotate.ts';
import type { Release, Released } from '../../src/usecases/release/open-release.ts';
import type { ServerContext } from '../context.ts';
import type { QueryUse } from '../metering/query-use.ts';
import type { FromThread, ThreadData, ToThread } from './messages.ts';

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url));
const PROGRAM = 'workers/queries.ts';
const HEAP_MB = 1_536; // the largest queries at once take some 750 MB; more ends the thread alone
const CLOSE_MS = 5_000;
// headers of the connection, not of the request
const OWN = new Set(['connection', 'content-length', 'expect', 'host', 'keep-alive', 'transfer-encoding', 'upgrade']);

export interface QueryThreadOptions {
  readonly data: ThreadData;
  readonly log: Pick<EventLog, 'ends'>;
  readonly logger: Logger;
  /** Records annotations; without it mutations are refused. */
  readonly annotate?: Annotate;
  /** Releases from quarantine; without it that is refused. */
  readonly release?: Release;
  /** Is called with what each query used, and the id of the key that asked. */
  readonly used?: (key: string, use: QueryUse) => void;
  /** What the thread runs, for `bin/run.js`; a test has programs of its own. */
  readonly program?: string;
}

/** Answers queries in a thread of its own. */
export interface QueryThread {
  /** A node listener for requests whose bodies are here. */
  readonly listener: (req: IncomingMessage, res: ServerResponse, context: ServerContext) => Promise<void>;
  /** Ends the thread and what it still answers. */
  close(): Promise<void>;
}

/** Methods of which the fetch standard makes no request. */
const NO_REQUESTS = new Set(['TRACE', 'TRACK', 'CONNECT']);

/**
 * Has queries answered in a thread, so that the event loop of the server is free for health, ingest and leases while large
 * answers are computed and written, and so that a query which takes all memory ends that thread alone. The thread starts with the
 * first query, and again with the next one when it has ended.
 */
export function openQueryThread({
  data,
  log,
  logger,
  annotate,
  release,
  used,
  program = PROGRAM,
}: QueryThreadOptions): QueryThread {
  const open = new Map<number, ServerResponse>();
  let thread: Worker | undefined;
  let asked = 0;

  async function listener(req: IncomingMessage, res: ServerResponse, context: ServerContext): Promise<void> {
    const id = ++asked;
    const { method = 'GET', headers } = req;
    if (NO_REQUESTS.has(method)) {
      const body = JSON.stringify({ errors: [{ message: `${method} is no method of /graphql; send GET or POST` }] });
      res.writeHead(405, { allow: 'GET, POST', 'content-type': 'application/json; charset=utf-8' }).end(body);
      return;
    }
    const body = method === 'GET' || method === 'HEAD' ? null : await buffer(req);
    if (res.destroyed) return;
    const worker = running();
    const say = (message: ToThread) => worker.postMessage(message);
    open.set(id, res);
    res.once('close', () => {
      if (open.delete(id)) say({ kind: 'left', id });
    });
    say({ kind: 'request', id, method, url: urlOf(req), headers: headersOf(headers), body, context });
  }

  function running(): Worker {
    if (thread) return thread;
    const worker = new Worker(RUN, {
      argv: [program],
      execArgv: [],
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    thread = worker;
    worker.on('message', (message: FromThread) => hear(worker, message));
    worker.on('error', (error) => logger.error('the thread of queries ended', { error }));
    worker.once('exit', () => {
      if (thread === worker) thread = undefined;
      for (const [id, res] of open) cut(id, res);
    });
    return worker;
  }

  function hear(worker: Worker, message: FromThread): void {
    if (message.kind === 'log') logger[message.level](message.message, message.fields as Fields);
    else if (message.kind === 'used') used?.(message.key, message.use);
    else if (message.kind === 'ends') void readEnds(worker, message.id, message.topics);
    else if (message.kind === 'annotate') void record(worker, message);
    else if (message.kind === 'release') void releaseFor(worker, message);
    else {
      const res = open.get(message.id);
      if (res) answer(worker, res, message); // else the client left
    }
  }

  function answer(
    worker: Worker,
    res: ServerResponse,
    message: Exclude<FromThread, { kind: 'log' | 'ends' | 'used' | 'annotate' | 'release' }>,
  ): void {
    const { kind, id } = message;
    if (kind === 'head') res.writeHead(message.status, message.headers);
    else if (kind === 'part') {
      const { length: bytes } = message.bytes;
      res.write(message.bytes, () => worker.postMessage({ kind: 'taken', id, bytes } satisfies ToThread));
    } else if (kind === 'end') {
      open.delete(id);
      res.end();
    } else {
      logger.error('a query was not answered', { error: message.error });
      cut(id, res);
    }
  }

  async function readEnds(worker: Worker, id: number, topics: readonly string[]): Promise<void> {
    const ends = await log.ends(topics).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    worker.postMessage({ kind: 'ends', id, ends } satisfies ToThread);
  }

  async function record(worker: Worker, { id, asked, principal }: Extract<FromThread, { kind: 'annotate' }>): Promise<void> {
    const none: Annotated = { kind: 'refused', code: 'unavailable', message: 'this server records no annotations' };
    const annotated = await (annotate?.(asked, principal) ?? Promise.resolve(none)).catch((error: unknown) => {
      logger.error('annotations were not recorded', { error });
      return error instanceof Error ? error : new Error(String(error));
    });
    worker.postMessage({ kind: 'annotated', id, annotated } satisfies ToThread);
  }

  async function releaseFor(worker: Worker, { id, asked, principal }: Extract<FromThread, { kind: 'release' }>): Promise<void> {
    const none: Released = { kind: 'refused', code: 'forbidden', message: 'this server releases nothing' };
    const released = await (release?.(asked, principal) ?? Promise.resolve(none)).catch((error: unknown) => {
      logger.error('a release from quarantine ended', { error });
      return error instanceof Error ? error : new Error(String(error));
    });
    worker.postMessage({ kind: 'released', id, released } satisfies ToThread);
  }

  /** Ends an answer that the thread will not finish. */
  function cut(id: number, res: ServerResponse): void {
    open.delete(id);
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const message = 'the thread that answers queries ended before the answer; ask for less at once, or try again in a moment';
    const [said, remedy] = message.split('; ');
    const ofTable = res.req.url?.startsWith('/v1/tables/') === true; // refused as every endpoint refuses
    const body = JSON.stringify(
      ofTable
        ? { error: { code: 'unavailable', message: said, remedy } }
        : { errors: [{ message, extensions: { code: 'UNAVAILABLE' } }] },
    );
    res.writeHead(503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' }).end(body);
  }

  return {
    listener,
    async close() {
      const worker = thread;
      if (!worker) return;
      const exited = once(worker, 'exit');
      worker.postMessage({ kind: 'close' } satisfies ToThread);
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** The address as the client sent it; the server rewrites it for its router. */
function urlOf(req: IncomingMessage & { readonly originalUrl?: string }): string {
  return new URL(req.originalUrl ?? req.url ?? '/', `http://${req.headers.host ?? 'localhost'}`).href;
}

function headersOf(headers: IncomingMessage['headers']): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(([name]) => !OWN.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}
