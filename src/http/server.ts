import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Db } from '../postgres/database.ts';
import { hasActiveKey } from '../postgres/keys.ts';
import { DEFAULT_LIMITS } from '../runtime/config.ts';
import { type Logger, SILENT } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { answerUnread, cutEvicted } from './answer-unread.ts';
import { type AuthContext, authorize } from './authorize.ts';
import { evictConnections } from './evict-connections.ts';
import { faultReply } from './fault-reply.ts';
import { createKeyCache } from './key-cache.ts';
import { isLoopback, refuseForeignPage } from './loopback.ts';
import { createMountBodies } from './mount-body.ts';
import { type Reply, refuse, send } from './reply.ts';
import { matchRoute, type Route } from './route.ts';

export interface HttpOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly db: Db;
  readonly metrics: Metrics;
  readonly logger?: Logger;
  readonly clock?: () => number;
  readonly connections?: number;
  readonly timeouts?: Partial<Timeouts>;
}

export interface Timeouts {
  /** For the headers of a request to arrive. */
  readonly headersMs: number;
  /** For a whole request, body included, to arrive. */
  readonly requestMs: number;
  /**
   * For a connection on which nothing moves; up to twice that for a client which does not read its answer: node begins again
   * once, when a part has gone.
   */
  readonly idleMs: number;
  /** For requests in flight when the server closes. */
  readonly closeMs: number;
}
const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 60_000, idleMs: 120_000, closeMs: 5_000 };

export interface HttpServer {
  readonly url: string;
  /** Takes no new connections, ends event streams, finishes the requests in flight, and cuts what is left after a limit. */
  close(): Promise<void>;
}

/**
 * Serves the routes over plain node:http (a framework would bring routing for a dozen paths and hide the time-outs). Off loopback
 * every request needs an API key, and at least one must exist. @throws BindRefused, ListenFailed.
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, port, db, clock = Date.now } = options;
  const local = isLoopback(host);
  if (!local && !(await hasActiveKey(db))) throw new BindRefused(host);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const endpoint: AuthContext = { keys: local ? 'optional' : 'required', verify: createKeyCache(db, clock) };

  const server = createServer({
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    keepAliveTimeout: 5_000,
    requireHostHeader: false, // node's own refusal carries no reason; see refuseUnnamed
  });
  const inFlight = evictConnections(server, { limit: options.connections ?? DEFAULT_LIMITS.connections, cut: cutEvicted });
  server.setTimeout(timeouts.idleMs);
  const open = new Set<ServerResponse>();
  const answer = createAnswerer(options, endpoint, local);
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    open.add(res);
    res.once('close', () => {
      open.delete(res);
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    res.on('error', () => undefined); // a client that went away is not news
    if (inFlight(req.socket) > PIPELINED) {
      res.shouldKeepAlive = false; // it is the last that this connection is served
      return finish(req, res, refusePile());
    }
    void answer(req, res);
  });
  server.on('checkExpectation', (_req: IncomingMessage, res: ServerResponse) =>
    send(res, refuse(417, 'the header Expect asks for what is not served', 'send Expect: 100-continue, or none')),
  );
  server.on('clientError', (error, socket) => {
    const unanswered = [...open].filter((res) => res.socket === socket || (res.req.socket === socket && !res.writableEnded));
    answerUnread(error, socket, unanswered);
  });
  await listen(server, host, port);
  const { port: actual } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: () => close(server, open, timeouts.closeMs),
  };
}

/** Asked to listen where others can connect although nobody could be told from anybody. */
export class BindRefused extends Error {
  override readonly name = 'BindRefused';
  constructor(host: string) {
    super(
      `will not listen on ${host} without an API key: everyone who reaches it could read and write; make one with \`espalier keys create --name NAME --scopes admin\`, or set ESPALIER_HOST=127.0.0.1`,
    );
  }
}

/** The address could not be taken. */
export class ListenFailed extends Error {
  override readonly name = 'ListenFailed';
  readonly code: string;
  constructor(host: string, port: number, code: string, cause: unknown) {
    super(LISTEN_REASONS[code]?.(host, port) ?? `cannot listen on ${host} port ${port}: ${code}`, { cause });
    this.code = code;
  }
}
const LISTEN_REASONS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `port ${port} on ${host} is in use; stop what listens there, or set ESPALIER_PORT to another (0 takes a free one)`,
  EACCES: (_host, port) => `may not listen on port ${port}; set ESPALIER_PORT to one above 1023`,
  EADDRNOTAVAIL: (host) => `${host} is not an address of this machine; set ESPALIER_HOST to one that is, or to 127.0.0.1`,
  ENOTFOUND: (host) => `the name ${host} is not known; set ESPALIER_HOST to an address of this machine, or to 127.0.0.1`,
};

// requests; node reads some thousand small ones at once, and keeps all their answers in memory until they are read
const PIPELINED = 64;

function refusePile(): Reply {
  const remedy = 'read the answers before you ask on, or ask on other connections';
  return refuse(429, `more than ${PIPELINED} requests of this connection wait for their answers`, remedy);
}

const DRAIN_MS = 2_000;
const SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];

function createAnswerer({ routes, metrics, logger = SILENT }: HttpOptions, endpoint: AuthContext, local: boolean) {
  const arrive = createMountBodies();
  const requests = metrics.counter('http_requests_total', 'Requests answered', ['route', 'method', 'status']);
  const seconds = metrics.histogram('http_request_seconds', 'Time to answer', SECONDS, ['route']);

  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const started = performance.now();
    const method = req.method ?? 'GET';
    const path = (req.url ?? '/').split('?', 1)[0] ?? '/';
    const match = matchRoute(routes, method, path);
    const route = match.kind === 'route' ? match.route.path : 'none';
    res.once('close', () => {
      requests.add(1, { route, method, status: String(res.headersSent ? res.statusCode : 'none') });
      seconds.observe((performance.now() - started) / 1_000, { route });
    });
    try {
      const needs = match.kind === 'route' ? match.route.needs : 'any-key';
      const refused =
        refuseUnnamed(req) ??
        (local ? refuseForeignPage(method, req.headers) : undefined) ??
        (await authorize(endpoint, req.headers.authorization, needs));
      if (refused) return finish(req, res, refused);
      if (match.kind === 'refused') return finish(req, res, match.reply);
      if (match.route.kind === 'endpoint') return finish(req, res, await match.route.handle(req));
      if (match.route.kind === 'each')
        return finish(req, res, await match.route.handle(req, match.route.pattern.exec(path)?.[1] ?? ''));
      const unnamed = refuseMountHost(req);
      if (unnamed) return finish(req, res, unnamed);
      const body = await arrive(req, res);
      if (body.kind !== 'here') return finish(req, res, body.kind === 'gone' ? undefined : body.reply);
      await match.route.listener(req, res);
    } catch (error) {
      finish(req, res, faultReply(error, logger.with({ method, path })));
    }
  };
}

function finish(req: IncomingMessage, res: ServerResponse, reply: Reply | undefined): void {
  if (reply === undefined) return void res.destroy(); // the client is gone
  send(res, reply);
  if (req.complete) return;
  // Refused before the body ended. Cutting the connection now would often destroy the answer on its way, so read on for a moment.
  req.resume();
  const timer = setTimeout(() => req.complete || req.socket.destroy(), DRAIN_MS);
  res.once('close', () => timer.unref());
  req.once('close', () => clearTimeout(timer));
}

/** Refuses a request of HTTP/1.1 without a Host (RFC 9112 §3.2). */
function refuseUnnamed({ httpVersion, headers }: IncomingMessage): Reply | undefined {
  if (httpVersion !== '1.1' || headers.host !== undefined) return undefined;
  return refuse(400, 'the request has no header Host', 'send the name or address of this server');
}

/** A mounted listener makes an address of Host and path; one that is none would be a fault there. */
function refuseMountHost({ headers: { host = 'localhost' } }: IncomingMessage): Reply | undefined {
  if (URL.canParse(`http://${host}/`)) return undefined;
  return refuse(
    400,
    `the header Host is no host: ${JSON.stringify(host.slice(0, 100))}`,
    'send the name or address of this server, and its port',
  );
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown';
    throw new ListenFailed(host, port, code, error);
  }
}

async function close(server: Server, open: ReadonlySet<ServerResponse>, limitMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const res of open) {
    // An event stream has no end of its own; its client comes back with the position it has. It is known by what the client asked
    // for and by having begun: the headers that were sent cannot be read back when they went through writeHead.
    if (res.headersSent && /text\/event-stream|multipart\/mixed/.test(res.req.headers.accept ?? '')) res.destroy();
    else if (!res.headersSent) res.shouldKeepAlive = false;
  }
  const timer = setTimeout(() => server.closeAllConnections(), limitMs);
  await closed;
  clearTimeout(timer);
}
