import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '../blobs/blob-store.ts';
import { openBlobStore } from '../blobs/blob-store.ts';
import { openFolderObjects } from '../blobs/folder-objects.ts';
import { TOPICS } from '../events/catalogue.ts';
import type { Envelope } from '../events/envelope.ts';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog, Subscription } from '../log/event-log.ts';
import { openKafkaLog } from '../log/kafka-log.ts';
import { parsePosition } from '../log/position.ts';
import { prefixedLog } from '../log/prefixed-log.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { claimLogIdentity } from '../postgres/log-identity.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { DEFAULT_LIMITS, type RequestLimits } from '../runtime/config.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { createTestDatabase } from '../testing/database.ts';
import { type ApiOptions, apiRoutes } from './api-routes.ts';
import { type HttpOptions, type HttpServer, startHttp } from './server.ts';

/** A server on loopback over a database and a log of its own, for tests. */
export interface TestApi {
  readonly database: Database;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly server: HttpServer;
  /** Starts the projections; without it the read models stay as they are. */
  project(): Promise<Subscription>;
  /** Starts one more server over the same database and log. */
  serve(options?: ServeOptions): Promise<HttpServer>;
  /** Posts events as JSON, or a body as given. */
  post(body: readonly Envelope[] | Envelope | string | Buffer, headers?: Record<string, string>, url?: string): Promise<Answer>;
  /** Waits until the read models hold everything below a position. */
  projected(position: string): Promise<void>;
  /** Counts the records of the whole log. */
  records(): Promise<number>;
  close(): Promise<void>;
}
export interface ServeOptions extends Partial<Omit<HttpOptions, 'db' | 'routes'>> {
  readonly limits?: Partial<RequestLimits>;
  readonly api?: Partial<Omit<ApiOptions, 'limits'>>;
}
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnswerBody;
}
export interface AnswerBody {
  readonly accepted?: number;
  readonly appended?: number;
  readonly duplicates?: number;
  readonly position?: string;
  readonly error?: {
    readonly message: string;
    readonly remedy: string;
    readonly problems?: readonly {
      readonly index: number;
      readonly id?: string;
      readonly path: string;
      readonly message: string;
    }[];
  };
}

/** @param given brokers of a Kafka log in place of the embedded one, and options of the endpoints of every server. */
export async function openTestApi(
  given: { readonly brokers?: readonly string[]; readonly api?: ServeOptions['api'] } = {},
): Promise<TestApi> {
  const testDatabase = await createTestDatabase();
  const database = await openDatabase(testDatabase.url);
  const { brokers } = given;
  const log = brokers
    ? prefixedLog(await openKafkaLog({ brokers, clientId: 'http' }), `${testDatabase.name}.`)
    : await openEmbeddedLog({ url: testDatabase.url });
  await claimLogIdentity(database.db, await log.identity());
  await log.ensureTopics(TOPICS, 2);
  const folder = await mkdtemp(join(tmpdir(), 'espalier-http-'));
  const blobs = openBlobStore(openFolderObjects(folder));
  const closing: (() => Promise<unknown>)[] = [
    () => log.close(),
    () => database.close(),
    () => testDatabase.drop(),
    () => rm(folder, { recursive: true }),
  ];

  const serve = async ({ limits, api, ...options }: ServeOptions = {}): Promise<HttpServer> => {
    const metrics = options.metrics ?? createMetrics();
    const world = { db: database.db, log, blobs, metrics, limits: { ...DEFAULT_LIMITS, ...limits }, ...given.api, ...api };
    const server = await startHttp({
      host: '127.0.0.1',
      port: 0,
      metrics,
      token: 'anyone',
      ...options,
      db: database.db,
      routes: apiRoutes(world),
    });
    closing.unshift(() => server.close());
    return server;
  };
  const server = await serve();

  return {
    database,
    log,
    blobs,
    server,
    serve,
    project: async () => {
      const running = await runProjections({ log, database });
      closing.unshift(() => running.close());
      return running;
    },
    post: async (body, headers = {}, url = server.url) => {
      const response = await fetch(`${url}/v1/events`, {
        method: 'POST',
        body: typeof body === 'string' ? body : Buffer.isBuffer(body) ? Uint8Array.from(body) : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as AnswerBody };
    },
    projected: (position) => waitUntilProjected(database.db, parsePosition(position), { timeoutMs: 30_000 }),
    records: async () => {
      let records = 0;
      for (const partitions of (await log.ends(TOPICS)).values()) for (const end of partitions.values()) records += end;
      return records;
    },
    close: async () => {
      for (const step of closing) await step();
    },
  };
}

/** Sends bytes as they are and returns all that comes back until the connection ends. */
export async function sendRaw(text: string, url: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk.toString('utf8');
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await once(socket, 'close');
  return received;
}
