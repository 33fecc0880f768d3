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
  return async (req, res, context) => {
    const answer = await tables.fetch(new Request(`http://api${req.url}`), context);
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) await pipeline(Readable.fromWeb(answer.body as ReadableStream), res);
    else res.end();
  };
}
