import { parentPort } from 'node:worker_threads';

/** Reports that it is at work, as `workers/thread.ts` does, and dies. */
parentPort?.postMessage({ kind: 'ready', url: null });
throw new Error('no memory is left');
