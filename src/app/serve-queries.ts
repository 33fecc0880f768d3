import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getPriority, setPriority, platform as system, tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGraphql } from '../../graphql/create-graphql.ts';
import { createExports } from '../../graphql/exports/create-exports.ts';
import { Gate } from '../../graphql/limits/gate.ts';
import { ignoreOrphanedRejections } from '../../graphql/orphaned-rejections.ts';
import { createPages } from '../../graphql/pages/create-pages.ts';
import { createTables } from '../../graphql/tables/create-tables.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { watchForgotten } from '../platform/watch-forgotten.ts';
import { openDatabase } from '../postgres/database.ts';
import { countNotices } from '../postgres/notices.ts';
import type { Principal } from '../postgres/principal.ts';
import { keepSnapshots } from '../projections/as-of/snapshots.ts';
import { CURSOR_CHANNEL } from '../projections/moved-cursors.ts';
import type { Config } from '../runtime/config.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { inSpan } from '../runtime/tracing.ts';
import { openAnnotate } from '../usecases/annotate/annotate.ts';
import { tokenDecoders } from '../usecases/datasets/export/token-decoder.ts';
import { openRequeue } from '../usecases/requeue/requeue-events.ts';
import { PRINCIPAL_HEADER } from './forward-queries.ts';

const QUERY_CONNECTIONS = 6; // of the database, for the statements of the few queries that run at once
const TAIL_CONNECTIONS = 4; // with a replica: of waits and live queries, each a short statement
const TABLE_CONNECTIONS = 4; // a table holds one while its client reads it
const CONNECT_MS = 60_000; // a statement waits for those before it
const STATEMENT_MS = 10_000;
const TABLE_STATEMENT_MS = 60_000; // a page of what is rare looks at 4,096 trees
const EXPORT_CONNECTIONS = 5; // an export holds one while it is written; the fifth asks what is forgotten
const EXPORT_STATEMENT_MS = 600_000; // it counts and sorts all that it holds
const SNAPSHOT_STATEMENT_MS = 60_000; // its tables have no statistics
const HEADER_BYTES = 65_536; // an address with a query in it, and who asks
const NICE = 5; // above that of the process: a third of the processor time of a thread that is as busy
const MOST_NICE = 19;

/**
 * Answers GraphQL, tables, exports and pages at a port of this machine for the API server, which checks who asks and passes it on
 * (`forward-queries.ts`). Who knows the path of `url` may ask as anybody: it is told to that server alone.
 */
export async function serveQueries(platform: Platform, logger: Logger): Promise<Running & { readonly url: string }> {
  // On Linux a priority is the thread's own: where processors are scarce, health, ingest and leases come before queries.
  // Only root may lower the niceness of a process that was started by `nice`.
  if (system() === 'linux') setPriority(Math.min(getPriority() + NICE, MOST_NICE));
  ignoreOrphanedRejections((reason) => logger.warn('a query failed after its answer', { reason: String(reason) }));
  const { directUrl, log, objects, blobs, config } = platform;
  // Sessions of one's own: a pooler would pass their settings on to others.
  const readUrl = config.databaseReplicaUrl ?? directUrl;
  const pool = (name: string, max: number, statementMs: number, url = readUrl) =>
    openDatabase(url, {
      applicationName: `espalier ${name}`,
      connectMs: CONNECT_MS,
      max,
      settings: { statement_timeout: String(statementMs), default_transaction_read_only: 'on' },
    });
  const database = await pool('queries', QUERY_CONNECTIONS, STATEMENT_MS);
  const reading = await pool('tables', TABLE_CONNECTIONS, TABLE_STATEMENT_MS);
  // Of the primary: a standby ends a transaction that is in the way of what it receives.
  const exporting = await pool('exports', EXPORT_CONNECTIONS, EXPORT_STATEMENT_MS, directUrl);
  // Waits and live queries look at the database that queries read, on connections that no query holds.
  const tails = config.databaseReplicaUrl === null ? null : await pool('tails', TAIL_CONNECTIONS, STATEMENT_MS);
  const notices = await countNotices(directUrl, [CURSOR_CHANNEL], { echo: readUrl !== directUrl });
  const snapshots = keepSnapshots(platform.database, directUrl, {
    records: config.asOfLimit,
    statementMs: SNAPSHOT_STATEMENT_MS,
  });
  const gate = new Gate();
  const { db } = database;
  const graphql = await createGraphql({
    db,
    tails: (tails ?? platform.database).db,
    log,
    blobs,
    notices,
    snapshots,
    gate,
    logger,
    annotate: openAnnotate(platform),
    requeue: openRequeue(platform),
    tokenizers: tokenDecoders(config.tokenizers),
  });
  const tables = createTables({ db: reading.db, blobs, snapshots, gate, logger });
  const pages = createPages({ db, blobs, graphql, logger });
  const exports = createExports({
    db: exporting.db,
    blobs,
    objects,
    scratch: scratchFolder(config),
    redirects: config.bucket?.redirects ?? false,
    snapshots,
    logger,
  });
  const watching = watchForgotten(platform, () => void exports.drop().catch(() => undefined));
  const handlerOf = (pathname: string) => {
    if (pathname.startsWith('/v1/tables/')) return tables;
    if (pathname === '/v1/exports') return exports;
    return pathname === '/v1/pages' ? pages : graphql;
  };

  const secret = newId();
  const server = createServer({ maxHeaderSize: HEADER_BYTES }, (req, res) => {
    const [shown, principal = ''] = String(req.headers[PRINCIPAL_HEADER]).split(' ');
    if (shown !== secret) return void res.writeHead(403).end();
    const asker = JSON.parse(decodeURIComponent(principal)) as Principal; // as the server wrote it
    return void answer(req, res, asker).catch((error: unknown) => {
      if (!res.destroyed) logger.error('a query was not answered', { error });
      res.destroy();
    });
  });

  async function answer(req: IncomingMessage, res: ServerResponse, principal: Principal): Promise<void> {
    const left = new AbortController();
    res.once('close', () => left.abort());
    const { method = 'GET', headers } = req;
    const url = new URL(req.url ?? '/', `http://${headers.host ?? 'localhost'}`);
    const body = method === 'GET' || method === 'HEAD' ? null : await buffer(req);
    const names = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const request = new Request(url, { method, headers: names, signal: left.signal, body });
    const { traceparent } = headers;
    const parent = typeof traceparent === 'string' ? traceparent : undefined;
    const response = await inSpan(`answer ${url.pathname}`, { parent }, async () =>
      handlerOf(url.pathname).fetch(request, { principal }),
    );
    if (res.destroyed) return void response.body?.cancel();
    res.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body)
      await pipeline(response.body as unknown as AsyncIterable<Uint8Array>, res); // yoga's own class of streams is one too
    else res.end();
  }

  server.maxConnections = config.limits.connections;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://${secret}@127.0.0.1:${port}`,
    finished: new Promise(() => undefined),
    async close() {
      server.close();
      server.closeAllConnections();
      await snapshots.close();
      await notices.close();
      await watching.close();
      await exports.close();
      await exporting.close();
      await tails?.close();
      await reading.close();
      await database.close();
    },
  };
}

/** Where exports are while they are written: on the disk of the store, which then takes them without a copy, or of this process only. */
function scratchFolder({ bucket, blobs }: Pick<Config, 'bucket' | 'blobs'>): string {
  return bucket === null ? join(blobs, 'exports-in-work') : join(tmpdir(), `espalier-exports-${process.getuid?.() ?? 0}`);
}
