import pg from 'pg';
import { type Hosts, hostsOf } from './hosts.ts';

/** int8 columns hold offsets and counters, all below 2^53: read them as numbers, and refuse the row that is not. */
const INT8 = 20;
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === INT8 ? parseInt8 : pg.types.getTypeParser(oid, format as 'text');
  },
};

function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} does not fit a number exactly`);
  return value;
}

export interface PoolOptions {
  readonly max?: number;
  readonly applicationName?: string;
  /** How long to wait for a connection. */
  readonly connectMs?: number;
  /** Settings of every connection, such as `search_path`: names and values are literals of the code. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Opens a pool of connections. Who opens it closes it with `pool.end()`. */
export function openPool(url: string, options: PoolOptions = {}): pg.Pool {
  const attempts: Attempts = { hosts: hostsOf(url), servers: new WeakMap(), failures: new WeakSet() };
  const pool = new pg.Pool({
    Client: clientOf(attempts),
    onConnect: (client) => checkServer(attempts, client),
    max: options.max ?? 10,
    application_name: options.applicationName ?? 'espalier',
    connectionTimeoutMillis: options.connectMs ?? 10_000,
    ...(options.settings ? { options: settingsOf(options.settings) } : {}),
    types: types as pg.CustomTypesConfig, // the same look-up with one oid changed
  });
  // An idle connection that breaks is replaced by the pool; without a listener Node would end the process for it.
  pool.on('error', () => undefined);
  // One in use that breaks fails its query; pg emits it as an event as well, which without a listener would end the process too.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (attempts.hosts.tries > 1) tryEachServer(pool, attempts);
  return pool;
}

/** What a pool knows of its connections to several servers. */
interface Attempts {
  readonly hosts: Hosts;
  /** The address that each client was made for. */
  readonly servers: WeakMap<pg.ClientBase, string>;
  /** Errors that a server is the cause of, not the pool. */
  readonly failures: WeakSet<object>;
}

/** Lets a pool hand out a connection to the next server where one fails, so that a query fails only if every server did. */
function tryEachServer(pool: pg.Pool, { hosts, failures }: Attempts): void {
  const connectOnce = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const isOfServer = (error: unknown) =>
    error instanceof Error && [error, error.cause].some((each) => each instanceof Error && failures.has(each)); // a pool wraps a time-out
  const connectToAny = async () => {
    for (let tries = 1; ; tries++) {
      try {
        return await connectOnce();
      } catch (error) {
        if (tries >= hosts.tries || !isOfServer(error)) throw error;
      }
    }
  };
  type Callback = (
    error: Error | undefined,
    client: pg.PoolClient | undefined,
    done: (release?: Error | boolean) => void,
  ) => void;
  const connect = (callback?: Callback) => {
    const connected = connectToAny();
    if (callback)
      connected.then(
        (client) => callback(undefined, client, client.release),
        (error: Error) => callback(error, undefined, () => undefined),
      );
    return connected;
  };
  pool.connect = connect as typeof pool.connect;
}

/**
 * Returns an address whose `sslmode` means what libpq means: pg alone takes `require` and `prefer` for `verify-full`. `sslrootcert`,
 * `sslcert` and `sslkey` name PEM files.
 */
function asLibpq(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  const mode = parsed.searchParams.get('sslmode');
  if (mode !== null && mode !== 'no-verify' && !parsed.searchParams.has('uselibpqcompat'))
    parsed.searchParams.set('uselibpqcompat', 'true');
  return parsed.searchParams.has('uselibpqcompat') ? parsed.toString() : url;
}

function settingsOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** Makes the clients of a pool, each of the server that is used at that moment; one that does not connect leaves it to the next. */
function clientOf({ hosts, servers, failures }: Attempts): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      const server = hosts.current();
      super({ ...config, connectionString: asLibpq(server) });
      servers.set(this, server);
      const connect = this.connect.bind(this) as (callback: (error: Error | null) => void) => void; // as a pool calls it
      const connectOrSkip: typeof connect = (callback) =>
        connect((error) => {
          if (error) {
            failures.add(error);
            hosts.skip(server);
          }
          callback(error);
        });
      this.connect = connectOrSkip as typeof this.connect;
    }
  };
}

async function checkServer({ hosts, servers, failures }: Attempts, client: pg.ClientBase): Promise<void> {
  try {
    await hosts.check(client);
  } catch (error) {
    if (error instanceof Error) failures.add(error);
    hosts.skip(servers.get(client) ?? hosts.current());
    throw error;
  }
}

/** Opens one connection outside any pool: for LISTEN, advisory locks and COPY. */
export async function connect(url: string, applicationName = 'espalier'): Promise<pg.Client> {
  const hosts = hostsOf(url);
  for (let tries = 1; ; tries++) {
    const current = hosts.current();
    const client = new pg.Client({
      connectionString: asLibpq(current),
      application_name: applicationName,
      connectionTimeoutMillis: 10_000,
      types: types as pg.CustomTypesConfig,
    });
    try {
      await client.connect();
      await hosts.check(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      hosts.skip(current);
      if (tries >= hosts.tries) throw error;
    }
  }
}
