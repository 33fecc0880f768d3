import { parentPort, workerData } from 'node:worker_threads';
import { type FoldThreadData, serveFoldThread } from '../projections/rebuild/fold-thread.ts';

/** Folds as `workers/fold.ts` does, but for the first of the threads, which dies. */
const data = workerData as FoldThreadData; // as the rebuild passed it
if (parentPort === null || data.share.index === 0) throw new Error('no memory is left');
await serveFoldThread(parentPort, data);
