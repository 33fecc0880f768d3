import { parentPort, workerData } from 'node:worker_threads';
import { serveInThread } from '../src/app/serve-in-thread.ts';
import type { ThreadData } from '../src/app/start-in-thread.ts';

/** Runs a role in a thread of a process that does other things too (`src/app/start-in-thread.ts`). */
if (parentPort === null) throw new Error('thread: this runs in a thread of `espalier up` or of the API; use espalier serve');
await serveInThread(parentPort, workerData as ThreadData); // as the process passed it
process.exit(); // of the thread: what a client library left open does not keep it
