import { parentPort, workerData } from 'node:worker_threads';
import { type ProjectorData, serveProjector } from '../src/app/serve-projector.ts';

/** Folds the log in a thread of the process that also serves (`src/app/project-in-thread.ts`). */
if (parentPort === null) throw new Error('projector: this runs in a thread of `espalier up`; use workers/project.ts');
await serveProjector(parentPort, workerData as ProjectorData); // as the process passed it
process.exit(); // of the thread: what a client library left open does not keep it
