import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { answerUnread, cutEvicted } from './answer-unread.ts';
import { type Crowd, evictConnections } from './evict-connections.ts';
import { type Reply, refuse } from './reply.ts';

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
  /** For open requests when the server closes. */
  readonly closeMs: number;
}
export const TIMEOUTS: Timeouts = { headersMs: 10_000, requestMs: 60_000, idleMs: 120_000, closeMs: 5_000 };

/** A node server with the bounds that no framework sets: on time, on connections, on requests that wait on one of them. */
export interface RawServer {
  readonly server: Server;
  /** Answers what never became a request. */
  unread(error: Error & { readonly code?: string }, socket: Duplex): void;
  /** Refuses a request that came behind too many others of its connection, or asks for what HTTP lets a server leave out. */
  refuseFirst(request: FastifyRequest): Reply | undefined;
  /** Takes no new connections, ends event streams, finishes the open requests, and cuts what is left after the limit. */
  close(): Promise<void>;
}

// requests; node reads some thousand small ones at once, and keeps all their answers in memory until they are read
const PIPELINED = 64;

export function createRawServer(
  timeouts: Timeouts,
  connections: Pick<Crowd, 'limit' | 'perAddress'>,
  listener: RequestListener,
): RawServer {
  const server = createServer({
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    keepAliveTimeout: 75_000, // above the 60 s of common load balancers, so that the client closes an idle connection first
    requireHostHeader: false, // node's own refusal returns no reason
  });
  const waiting = evictConnections(server, { ...connections, cut: cutEvicted });
  server.setTimeout(timeouts.idleMs);
  const open = new Set<ServerResponse>();
  server.on('request', (_req, res: ServerResponse) => {
    open.add(res);
    res.once('close', () => {
      open.delete(res);
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    res.on('error', () => undefined); // a client that went away is not news
  });
  server.on('request', listener);
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));

  return {
    server,
    unread(error, socket) {
      const of = (res: ServerResponse) => res.socket === socket || (res.req.socket === socket && !res.writableEnded);
      answerUnread(error, socket, [...open].filter(of));
    },
    refuseFirst({ raw: { socket, headers } }) {
      if (waiting(socket) > PIPELINED) {
        const message = `more than ${PIPELINED} requests of this connection wait for their answers`;
        const remedy = 'read the answers before you ask on, or ask on other connections';
        return refuse(429, message, remedy, { headers: { connection: 'close' } });
      }
      if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return undefined;
      return refuse(417, 'the header Expect asks for what is not served', 'send Expect: 100-continue, or none');
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const res of open) {
        // An event stream has no end of its own; its client comes back with the position it has. It is known by what the client
        // asked for and by having begun: the headers that were sent cannot be read back when they went through writeHead.
        if (res.headersSent && /text\/event-stream|multipart\/mixed/.test(res.req.headers.accept ?? '')) res.destroy();
        else if (!res.headersSent) res.shouldKeepAlive = false;
      }
      const timer = setTimeout(() => server.closeAllConnections(), timeouts.closeMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
