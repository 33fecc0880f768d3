import { parentPort } from 'node:worker_threads';

/** Reports that it projects, as `workers/projector.ts` does, and dies. */
parentPort?.postMessage({ kind: 'projecting' });
throw new Error('no memory is left');
