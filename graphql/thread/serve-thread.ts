import { once } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { openFileBlobStore } from '../../src/blobs/file-blob-store.ts';
import type { EventLog, Offsets } from '../../src/log/event-log.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { readMasterKey, useKeyWrapping } from '../../src/postgres/key-wrapping.ts';
import { countNotices } from '../../src/postgres/notices.ts';
import { keepSnapshots } from '../../src/projections/as-of/snapshots.ts';
import { CURSOR_CHANNEL } from '../../src/projections/moved-cursors.ts';
import type { Fields, Logger } from '../../src/runtime/logger.ts';
import type { Annotate, Annotated } from '../../src/usecases/annotate/annotate.ts';
import { tokenDecoders } from '../../src/usecases/datasets/export/token-decoder.ts';
import type { Release, Released } from '../../src/usecases/release/open-release.ts';
import type { ServerContext } from '../context.ts';
import { createGraphql } from '../create-graphql.ts';
import { BUDGETS } from '../metering/budgets.ts';
import { Callers } from '../metering/callers.ts';
import type { QueryUse } from '../metering/query-use.ts';
import { ignoreOrphanedRejections } from '../orphaned-rejections.ts';
import { createPages } from '../pages/create-pages.ts';
import { createTables } from '../tables/create-tables.ts';
import { answerRequest } from './answer-request.ts';
import type { FromThread, ThreadData, ToThread } from './messages.ts';

const QUERY_CONNECTIONS = 6; // of the database, for the statements of the few queries that run at once
const TAIL_CONNECTIONS = 2; // for all subscriptions: their statements are short, and wait for each other, not for queries
const TABLE_CONNECTIONS = 4; // a table holds one while its client reads it
const CONNECT_MS = 60_000; // a statement waits for those before it

/** Answers the queries that a server passes on, with database connections of its own, until the server closes it. */
export async function serveThread(port: MessagePort, { config, ...urls }: ThreadData): Promise<void> {
  const say = (message: FromThread, moved: readonly ArrayBuffer[] = []) => port.postMessage(message, [...moved]);
  const requests = new Map<number, ReturnType<typeof answerRequest>>();
  const ends = askEnds(say);
  const writes = askToAnnotate(say);
  const releases = askToRelease(say);
  const logger = loggerTo(say);
  ignoreOrphanedRejections((reason) => logger.warn('a query failed after its answer', { reason: String(reason) }));
  const open = openAll(urls, config, {
    log: ends.log,
    annotate: writes.annotate,
    release: releases.release,
    logger,
    used: (key, use) => say({ kind: 'used', key, use }),
  });
  port.on('message', (message: ToThread) => {
    if (message.kind === 'request') {
      const answering = answerRequest(message, open, say);
      requests.set(message.id, answering);
      void answering.done.finally(() => requests.delete(message.id));
    } else if (message.kind === 'taken') requests.get(message.id)?.taken(message.bytes);
    else if (message.kind === 'left') requests.get(message.id)?.leave();
    else if (message.kind === 'ends') ends.answered(message.id, message.ends);
    else if (message.kind === 'annotated') writes.answered(message.id, message.annotated);
    else if (message.kind === 'released') releases.answered(message.id, message.released);
    else port.close();
  });
  await once(port, 'close');
  for (const { leave } of requests.values()) leave();
  await (await open).close();
}

async function openAll(
  { databaseUrl: url, directUrl }: Omit<ThreadData, 'config'>,
  config: ThreadData['config'],
  server: {
    readonly log: Pick<EventLog, 'ends'>;
    readonly annotate: Annotate;
    readonly release: Release;
    readonly logger: Logger;
    used(key: string, use: QueryUse): void;
  },
) {
  // a thread has modules of its own: what the server knows of the master key is not known here
  useKeyWrapping(config.masterKeyFile === null ? null : await readMasterKey(config.masterKeyFile));
  const name = (of: string) => ({ applicationName: `espalier ${of}`, connectMs: CONNECT_MS });
  const database = await openDatabase(url, { ...name('queries'), max: QUERY_CONNECTIONS });
  const tails = await openDatabase(url, { ...name('tails'), max: TAIL_CONNECTIONS });
  const notices = await countNotices(directUrl, [CURSOR_CHANNEL]);
  const snapshots = keepSnapshots(database, directUrl, { records: config.asOfLimit });
  const blobs = openFileBlobStore(config.blobs);
  const reading = await openDatabase(url, { ...name('tables'), max: TABLE_CONNECTIONS });
  const callers = new Callers(BUDGETS, Date.now);
  const read = { db: database.db, tails: tails.db, blobs, notices, snapshots, tokenizers: tokenDecoders(config.tokenizers) };
  const graphql = await createGraphql({ ...read, callers, ...server });
  const tables = createTables({ db: reading.db, blobs, snapshots, callers, budgets: BUDGETS, ...server });
  const pages = createPages({ db: database.db, blobs, graphql, ...server });
  return {
    fetch: (request: Request, context: ServerContext): Response | Promise<Response> => {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith('/v1/tables/')) return tables.fetch(request, context);
      return pathname === '/v1/pages' ? pages.fetch(request, context) : graphql.fetch(request, context);
    },
    async close() {
      await snapshots.close();
      await notices.close();
      await reading.close();
      await tails.close();
      await database.close();
    },
  };
}

/** The log as the server knows it: its client is open there already. */
function askEnds(say: (message: FromThread) => void) {
  const { ask, answered } = asking<Offsets>();
  const ends = (topics: readonly string[]) => ask((id) => say({ kind: 'ends', id, topics }));
  return { log: { ends }, answered };
}

/** Annotations are recorded by the server, which appends to the log. */
function askToAnnotate(say: (message: FromThread) => void) {
  const { ask, answered } = asking<Annotated>();
  const annotate: Annotate = (asked, principal) => ask((id) => say({ kind: 'annotate', id, asked, principal }));
  return { annotate, answered };
}

/** Releases from quarantine are recorded by the server too. */
function askToRelease(say: (message: FromThread) => void) {
  const { ask, answered } = asking<Released>();
  const release: Release = (asked, principal) => ask((id) => say({ kind: 'release', id, asked, principal }));
  return { release, answered };
}

/** Matches what the server answers with what it was asked. */
function asking<Answer>() {
  const waiting = new Map<number, { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void }>();
  let asked = 0;
  return {
    ask: (send: (id: number) => void) =>
      new Promise<Answer>((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        send(id);
      }),
    answered(id: number, answer: Answer | Error) {
      const waiter = waiting.get(id);
      waiting.delete(id);
      if (answer instanceof Error) waiter?.reject(answer);
      else waiter?.resolve(answer);
    },
  };
}

function loggerTo(say: (message: FromThread) => void, bound: Fields = {}): Logger {
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields: Fields) =>
    say({ kind: 'log', level, message, fields: { ...bound, ...fields } });
  return {
    ...({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as Omit<Logger, 'with'>),
    with: (fields) => loggerTo(say, { ...bound, ...fields }),
  };
}
