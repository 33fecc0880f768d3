import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData } from '../graphql/thread/messages.ts';
import { serveThread } from '../graphql/thread/serve-thread.ts';

/** Answers the queries of an API server, which starts it in a thread (`graphql/thread/open-query-thread.ts`). */
if (parentPort === null) throw new Error('queries: this runs in a thread of the API server; start workers/api.ts');
await serveThread(parentPort, workerData as ThreadData); // as the server passed it
