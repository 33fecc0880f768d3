import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Principal } from '../postgres/principal.ts';
import { type Reply, refuse, send } from './reply.ts';

export interface OpenRequestsOptions {
  /** Requests of one key that are answered at the same time, waits for batches and event streams among them. */
  readonly perKey: number;
  /** How long open requests may take when the server closes, ms. */
  readonly closeMs: number;
  /** Returns which of some keys are neither revoked nor expired; without it no response is ended for its key (in tests). */
  readonly activeKeys?: ((keyIds: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
}

/** The requests that a server is answering. */
export interface OpenRequests {
  /** Counts a request toward those of its key; returns the refusal of one too many. */
  enter(principal: Principal, res: ServerResponse): Reply | undefined;
  /** Returns the responses of a connection that have not ended, in order. */
  on(socket: Duplex): readonly ServerResponse[];
}

/** With the life of cached keys this is below 5 s: how long a response may outlive the key of its request. */
const LOOK_MS = 1_500;
const LOCAL = 'local';
// requests; node reads some thousand small ones at once, and keeps all their answers in memory until they are read
const PIPELINED = 64;

const TOO_MANY = refuse(
  429,
  `more than ${PIPELINED} requests of this connection wait for their answers`,
  'read the answers before you send more, or send them on other connections',
  { headers: { connection: 'close' } },
);

/**
 * Tracks the requests that are being answered. Responses whose key is revoked or has expired are cut. When the server closes,
 * event streams end at once and other responses are cut after a limit. A connection on which too many requests wait is ended.
 */
export function trackOpenRequests(app: FastifyInstance, { perKey, closeMs, activeKeys }: OpenRequestsOptions): OpenRequests {
  const bySocket = new Map<Duplex, Set<ServerResponse>>();
  const byKey = new Map<string, Set<ServerResponse>>();

  app.server.on('connection', (socket) => {
    const own = new Set<ServerResponse>();
    bySocket.set(socket, own);
    socket.once('close', () => {
      bySocket.delete(socket);
      // Node closes the response whose turn it is. Those of requests that were sent after it would stay open for ever.
      for (const res of own) if (res.socket === null) res.emit('close');
    });
  });
  app.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    const { raw: res } = reply;
    const own = bySocket.get(socket)?.add(res);
    res.on('error', () => undefined); // a mounted listener may write to a response that has ended
    res.once('close', () => {
      own?.delete(res);
      if (!app.server.listening) setImmediate(() => app.server.closeIdleConnections());
    });
    if ((own?.size ?? 0) > PIPELINED) return void send(reply, TOO_MANY);
    done();
  });
  app.addHook('preClose', async () => {
    for (const res of [...bySocket.values()].flatMap((own) => [...own])) {
      // An event stream has no end of its own; its client comes back with its position. It is known by the Accept of its request:
      // headers that went through writeHead cannot be read back.
      if (res.headersSent && /text\/event-stream|multipart\/mixed/.test(res.req.headers.accept ?? '')) res.destroy();
      else if (!res.headersSent) res.shouldKeepAlive = false;
    }
    setTimeout(() => app.server.closeAllConnections(), closeMs).unref();
  });
  if (activeKeys) {
    let looking = false;
    const look = async () => {
      if (looking) return;
      looking = true;
      await cutRevoked(activeKeys).catch(() => undefined); // looks again soon
      looking = false;
    };
    const timer = setInterval(() => void look(), LOOK_MS).unref();
    app.addHook('onClose', async () => clearInterval(timer));
  }

  async function cutRevoked(active: NonNullable<typeof activeKeys>): Promise<void> {
    const ids = [...byKey.keys()].filter((key) => key !== LOCAL);
    if (ids.length === 0) return;
    const kept = await active(ids);
    for (const id of ids) if (!kept.has(id)) for (const res of byKey.get(id) ?? []) res.destroy();
  }

  return {
    enter({ keyId, name, scopes }, res) {
      if (scopes.length === 0) return undefined; // for what needs nothing
      const key = keyId ?? LOCAL;
      const own = byKey.get(key) ?? new Set();
      if (own.size >= perKey)
        return refuse(
          429,
          `${perKey} requests of ${JSON.stringify(name)} are being answered`,
          'read their answers first; ESPALIER_MAX_REQUESTS_PER_KEY allows more',
          { headers: { 'retry-after': '1' } },
        );
      byKey.set(key, own.add(res));
      res.once('close', () => {
        own.delete(res);
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key);
      });
      return undefined;
    },
    on: (socket) => [...(bySocket.get(socket) ?? [])].filter((res) => !res.writableEnded),
  };
}
