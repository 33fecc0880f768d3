import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kysely } from 'kysely';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { openBlobStore } from '../../src/blobs/blob-store.ts';
import { openFolderObjects } from '../../src/blobs/folder-objects.ts';
import { TOPICS } from '../../src/events/catalogue.ts';
import { openEmbeddedLog } from '../../src/log/embedded-log.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { CamelCaseDialect } from '../../src/postgres/camel-case-dialect.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { countNotices, type Notices } from '../../src/postgres/notices.ts';
import { localPrincipal, type Principal } from '../../src/postgres/principal.ts';
import type { Tables } from '../../src/postgres/tables.ts';
import { keepSnapshots, type Snapshots } from '../../src/projections/as-of/snapshots.ts';
import { CURSOR_CHANNEL } from '../../src/projections/moved-cursors.ts';
import { createTestDatabase } from '../../src/testing/database.ts';
import type { ServerContext } from '../context.ts';
import { createGraphql, type GraphqlOptions } from '../create-graphql.ts';

/** The GraphQL API over a database, a log and a blob store of its own, asked without a port. */
export interface TestGraphql {
  /** Of the database. */
  readonly url: string;
  readonly database: Database;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly notices: Notices;
  readonly snapshots: Snapshots;
  /** The statements that the API has sent since the last call. */
  statements(): readonly string[];
  fetch(body: object, init?: RequestInit, overrides?: Partial<ServerContext>): Promise<Response>;
  /** Asks and returns the answer whole. */
  ask(query: string, variables?: object, overrides?: Partial<ServerContext>): Promise<Answer>;
  /** Another API over the same sources. */
  create(options: Partial<GraphqlOptions>, principal?: Principal): Promise<Pick<TestGraphql, 'fetch' | 'ask'>>;
  close(): Promise<void>;
}
export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test's own query says
  readonly data?: any;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions: Record<string, unknown>;
  }[];
}

/** Opens a test API. Who opens closes. */
export async function openTestGraphql(): Promise<TestGraphql> {
  const { url, drop } = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'espalier-graphql-'));
  const database = await openDatabase(url);
  const log = await openEmbeddedLog({ url });
  await log.ensureTopics(TOPICS, 2);
  const blobs = openBlobStore(openFolderObjects(folder));
  const notices = await countNotices(url, [CURSOR_CHANNEL]);
  let statements: string[] = [];
  const db = new Kysely<Tables>({
    dialect: new CamelCaseDialect(database.pool),
    log: ({ query }) => void statements.push(query.sql),
  });
  const snapshots = keepSnapshots(database, url, { records: 10_000 });
  const create = async (options: Partial<GraphqlOptions>, principal?: Principal) =>
    askable(await createGraphql({ db, log, blobs, notices, snapshots, ...options }), principal);
  return {
    ...(await create({})),
    url,
    database,
    log,
    blobs,
    notices,
    snapshots,
    create,
    statements() {
      const sent = statements;
      statements = [];
      return sent;
    },
    async close() {
      await snapshots.close();
      await notices.close();
      await log.close();
      await database.close();
      await drop();
      await rm(folder, { recursive: true });
    },
  };
}

function askable(
  graphql: Awaited<ReturnType<typeof createGraphql>>,
  principal = localPrincipal(),
): Pick<TestGraphql, 'fetch' | 'ask'> {
  const fetch = async (body: object, init: RequestInit = {}, overrides: Partial<ServerContext> = {}) =>
    graphql.fetch(
      new Request('http://api/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...init,
      }),
      { principal, ...overrides },
    );
  return { fetch, ask: async (query, variables = {}, asked) => (await fetch({ query, variables }, {}, asked)).json() };
}
