import { Readable } from 'node:stream';
import { GraphQLError } from 'graphql';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { formatPosition } from '../../src/log/position.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Snapshots } from '../../src/projections/as-of/snapshots.ts';
import { readTablePosition } from '../../src/projections/tables/read-table.ts';
import { isTableName } from '../../src/projections/tables/tables.ts';
import { visibleTo } from '../../src/projections/visible-to.ts';
import { type Logger, SILENT } from '../../src/runtime/logger.ts';
import { ARROW_STREAM, parseTableQuery, type TableRequest } from '../../src/usecases/datasets/tables/table-query.ts';
import type { ServerContext } from '../context.ts';
import type { Gate } from '../limits/gate.ts';
import { boundStreams } from './bound-streams.ts';
import { compressed, encodingFor } from './encoding.ts';
import { inTurns } from './in-turns.ts';
import { refusal, refusedReading } from './refusal.ts';

export interface TablesOptions {
  /** Connections of their own, whose statements end in time: each stream holds one while it is read. */
  readonly db: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly snapshots: Pick<Snapshots, 'at'>;
  readonly gate: Gate;
  readonly logger?: Logger;
}

const IDLE_MS = 180_000; // beyond this Postgres ends the transaction of a process that is stopped

/**
 * Answers `/v1/tables/NAME` as Arrow streams, in the turns of queries. A stream reads one snapshot: a
 * transaction, or the read models as of a moment.
 */
export function createTables(options: TablesOptions) {
  const { gate, logger = SILENT } = options;
  const enter = boundStreams();

  async function fetch(request: Request, { principal }: ServerContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.split('/')[3] ?? '';
    if (!isTableName(name))
      return refusal(404, 'not-found', `no table is named ${JSON.stringify(name.slice(0, 80))}`, 'GET / lists them');
    const parsed = parseTableQuery(name, Object.fromEntries(searchParams));
    if (parsed.kind === 'refused') return refusal(400, 'invalid', parsed.error.message, 'correct the parameters');
    const key = principal.keyId ?? 'local';
    const leave = enter(key);
    if (!leave) return refusal(429, 'busy', 'too many tables are being read', 'ask again when one of them has ended', 1);
    const ends: (() => unknown)[] = [leave];
    const close = async () => {
      for (const end of ends.splice(0).reverse()) await end();
    };
    try {
      ends.push(gate.beginQuery(key));
      const read = await open(parsed.value, request.signal, ends);
      const { streamTable } = await import('../../src/usecases/datasets/tables/stream-table.ts'); // 0.1 s of a start that may not need it
      const { asked } = parsed.value;
      const sources = { db: visibleTo(read.db, principal), keys: read.keys, blobs: options.blobs };
      const enter = (signal: AbortSignal) => gate.enter(key, signal);
      const pages = inTurns(streamTable(sources, asked, read.position), { enter, close });
      const encoding = encodingFor(request.headers.get('accept-encoding'));
      const body = await startedStream(pages(request.signal));
      return new Response(compressed(body, encoding), {
        headers: {
          'content-type': ARROW_STREAM,
          'cache-control': 'no-store',
          'espalier-position': read.position,
          vary: 'accept-encoding',
          ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
        },
      });
    } catch (error) {
      await close();
      return refused(error, logger);
    }
  }

  /** Opens what a table is read from, and adds to `ends` what closes it. */
  async function open({ asked, moment, entities }: TableRequest, signal: AbortSignal, ends: (() => unknown)[]) {
    if (moment !== null) {
      const snapshot = await options.snapshots.at(moment, entities, signal);
      ends.push(snapshot.release);
      return { db: snapshot.db, keys: options.db, position: formatPosition(snapshot.position) };
    }
    const trx = await options.db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
    ends.push(() =>
      trx
        .rollback()
        .execute()
        .catch(() => undefined),
    ); // the connection may be gone
    const position = await readTablePosition(trx, asked.table, IDLE_MS);
    return { db: trx, keys: trx, position: formatPosition(position) };
  }

  return { fetch };
}

/** Returns the stream when its first part is here: until then what fails is a refusal. */
async function startedStream(parts: AsyncGenerator<Uint8Array>): Promise<Readable> {
  const first = await parts.next();
  async function* whole() {
    if (!first.done) yield first.value;
    yield* parts;
  }
  const body = Readable.from(whole(), { objectMode: false, highWaterMark: 1 });
  body.once('close', () => void parts.return(undefined)); // a client that left before it read anything ends no generator
  return body;
}

function refused(error: unknown, logger: Logger): Response {
  if (error instanceof GraphQLError) {
    const http = error.extensions.http as
      | { readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
      | undefined;
    const after = http?.headers?.['retry-after'];
    if (after !== undefined) return refusal(429, 'busy', error.message, 'ask again after Retry-After seconds', Number(after));
    return refusal(422, 'unprocessable', error.message, 'narrow the filter, or name a run');
  }
  return refusedReading(error, logger, 'a table');
}
