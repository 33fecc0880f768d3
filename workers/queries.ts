import { platform, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadData } from '../graphql/thread/messages.ts';
import { serveThread } from '../graphql/thread/serve-thread.ts';

const NICE = 5; // a third of the processor time of a thread that is as busy

/** Answers the queries of an API server, which starts it in a thread (`graphql/thread/open-query-thread.ts`). */
if (parentPort === null) throw new Error('queries: this runs in a thread of the API server; start workers/api.ts');
// On Linux a priority is the thread's own: where processors are scarce, health, ingest and leases come before queries.
if (platform() === 'linux') setPriority(NICE);
await serveThread(parentPort, workerData as ThreadData); // as the server passed it
