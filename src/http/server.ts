import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Db } from '../postgres/database.ts';
import { type ApiKey, findActiveKeys, hasActiveKey, hashOf, presetKey, readActiveKeyIds } from '../postgres/keys.ts';
import { installationIdentity } from '../postgres/log-identity.ts';
import { openCache } from '../runtime/cache.ts';
import { type Config, DEFAULT_LIMITS } from '../runtime/config.ts';
import { gathering } from '../runtime/gathering.ts';
import { installationToken } from '../runtime/installation-token.ts';
import { isLoopback } from '../runtime/is-loopback.ts';
import type { Logger } from '../runtime/logger.ts';
import type { CounterMetric, Metrics } from '../runtime/metrics.ts';
import { createApp, type Timeouts } from './app.ts';
import type { Route } from './endpoint.ts';
import { localAccess } from './local-access.ts';

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
  /** That are answered at the same time. */
  readonly requestsPerKey?: number;
  readonly timeouts?: Partial<Timeouts>;
  /** The project that who shows no key writes; `default` unless given. */
  readonly project?: string;
  /**
   * Reads the token of the installation, which a server on loopback asks for where no key is shown; `anyone` lets in whoever can
   * connect there, in tests.
   */
  readonly token: (() => Promise<string>) | 'anyone';
  /** Names that the server answers to, besides those of loopback there; any off loopback unless given. */
  readonly hosts?: readonly string[];
  /** Addresses of proxies whose `X-Forwarded-For` names the client; none unless given. */
  readonly trustedProxies?: readonly string[];
  /** SHA-256 in hex of a key that is made sure of; none unless given. */
  readonly firstKeyHash?: string | null;
}

/** Returns the options of a server that an operator sets. */
export function serverOptions(config: Config) {
  const { host, port, project, home, allowedHosts: hosts, trustedProxies, firstKeyHash } = config;
  const { connections, requestsPerKey } = config.limits;
  const token = () => installationToken(home);
  return { host, port, project, connections, requestsPerKey, hosts, trustedProxies, firstKeyHash, token };
}

export interface HttpServer {
  readonly url: string;
  /** Takes no new connections, ends event streams, finishes the open requests, and cuts what is left after a limit. */
  close(): Promise<void>;
}

/**
 * Serves routes by fastify. Every request needs an API key, and off loopback at least
 * one must exist; on loopback the token of the installation does as well. @throws BindRefused, ListenFailed.
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, port, routes, db, metrics, clock = Date.now } = options;
  const local = isLoopback(host);
  if (options.firstKeyHash) await presetKey(db, options.firstKeyHash);
  if (!local && !(await hasActiveKey(db))) throw new BindRefused(host);
  const wrongKeys = metrics.counter('http_wrong_keys_total', 'API keys that were unknown, expired or revoked');
  const app = await createApp({
    routes,
    auth: {
      keys: local ? 'optional' : 'required',
      verify: createKeyCache(db, clock, wrongKeys),
      ...(options.project === undefined ? {} : { project: options.project }),
      ...(local && options.token !== 'anyone' ? { local: localAccess(await options.token()) } : {}),
    },
    hosts: options.hosts ?? [],
    trustedProxies: options.trustedProxies ?? [],
    requestsPerKey: options.requestsPerKey ?? Number.POSITIVE_INFINITY,
    activeKeys: (keyIds) => readActiveKeyIds(db, keyIds),
    timeouts: options.timeouts ?? {},
    metrics,
    installation: await installationIdentity(db),
    clock,
    ...(options.logger ? { logger: options.logger } : {}),
  });
  app.server.maxConnections = options.connections ?? DEFAULT_LIMITS.connections;
  await app.ready();
  await listen(app.server, host, port);
  const { port: actual } = app.server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    close: () => app.close(),
  };
}

/** Asked to listen where others can connect although callers could not be distinguished. */
export class BindRefused extends Error {
  override readonly name = 'BindRefused';
  constructor(host: string) {
    super(
      `will not listen on ${host} without an API key: everyone who reaches it could read and write; make one with \`espalier keys create --name NAME --scopes admin\`, name its hash in ESPALIER_FIRST_KEY_HASH, or set ESPALIER_HOST=127.0.0.1`,
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

const LIFE_MS = 3_000; // how long a revoked key may still work; one look-up per key and three seconds is nothing to the database
const SIZE = 1_000;

/**
 * Verifies keys with a small memory of those found good. Wrong ones are not remembered: their number has no bound. All keys that
 * are presented while a look-up is under way are looked up together by the next one, so that any number of wrong keys keeps one
 * connection of the database busy and holds up nobody.
 */
function createKeyCache(
  db: Db,
  clock: () => number,
  wrong: CounterMetric<never>,
): (presented: string) => Promise<ApiKey | undefined> {
  const now = (): number => clock() + 1; // a time of 0 is none to the cache
  const good = openCache<ApiKey>({ max: SIZE, ttl: LIFE_MS, perf: { now }, ttlResolution: 0 });
  const lookUp = gathering((presented: readonly string[]) => findActiveKeys(db, presented));
  return async (presented) => {
    const hash = hashOf(presented).toString('base64');
    const cached = good.get(hash);
    if (cached && (cached.expiresAt === null || cached.expiresAt.getTime() > clock())) return cached;
    const key = (await lookUp(presented)).get(presented);
    if (key) good.set(hash, key);
    else wrong.add(1, {});
    return key;
  };
}
