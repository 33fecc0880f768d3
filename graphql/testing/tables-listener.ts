import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { BlobStore } from '../../src/blobs/blob-store.ts';
import type { NodeListener } from '../../src/http/endpoint.ts';
import type { Database } from '../../src/postgres/database.ts';
import { Gate } from '../limits/gate.ts';
import { createTables } from '../tables/create-tables.ts';

/** Answers tables in the process of a test, without the thread. */
export function tablesListener(database: Database, blobs: BlobStore): NodeListener {
  const tables = createTables({ db: database.db, blobs, snapshots: undefined as never, gate: new Gate() }); // no moment is asked for
  return listenerOf(tables);
}

/** Makes a listener of what answers requests, for a server that is not another thread. */
export function listenerOf({ fetch }: Pick<ReturnType<typeof createTables>, 'fetch'>): NodeListener {
  return async (req, res, context) => {
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const answer = await fetch(new Request(`http://api${req.url}`, { headers }), context);
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) await pipeline(Readable.fromWeb(answer.body as ReadableStream), res);
    else res.end();
  };
}
