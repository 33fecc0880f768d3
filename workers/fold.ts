import { parentPort, workerData } from 'node:worker_threads';
import { type FoldThreadData, serveFoldThread } from '../src/projections/rebuild/fold-thread.ts';

/** Folds a share of the log's partitions in a thread of a rebuild (`projections/rebuild/fold-in-threads.ts`). */
if (parentPort === null) throw new Error('fold: this runs in a thread of a rebuild; use espalier rebuild');
await serveFoldThread(parentPort, workerData as FoldThreadData); // as the rebuild passed it
