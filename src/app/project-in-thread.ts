import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Subscription } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Logger } from '../runtime/logger.ts';
import { logReport } from './project.ts';
import type { FromProjector, ProjectorData } from './serve-projector.ts';

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url));
const PROGRAM = 'workers/projector.ts';
const CLOSE_MS = 30_000; // the slice in flight is written first

type Servers = Pick<Platform, 'config' | 'databaseUrl' | 'directUrl'>;

/** The thread that projects ended by itself. */
export class ProjectorEnded extends Error {
  override readonly name = 'ProjectorEnded';
}

/**
 * Runs the projections in a thread of this process, with connections of its own, so that folding takes nothing from the loop
 * that serves or collects. Resolves when the thread is a member of the projectors. @param program what it runs, for `bin/run.js`;
 * a test has programs of its own. @throws ProjectorEnded.
 */
export async function projectInThread(platform: Servers, logger: Logger, program = PROGRAM): Promise<Subscription> {
  const { config, databaseUrl, directUrl } = platform;
  const data: ProjectorData = { config: { ...config, databaseUrl, databaseDirectUrl: directUrl } };
  const worker = new Worker(RUN, { argv: [program], execArgv: [], workerData: data });
  let closing = false;
  const finished = new Promise<void>((resolve, reject) => {
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.once('exit', (code) => {
      if (closing && cause === undefined) return resolve();
      const why = cause instanceof Error ? cause.message : `it ended with code ${code}`;
      reject(new ProjectorEnded(`the thread that projects ended: ${why}`, { cause }));
    });
  });
  finished.catch(() => undefined); // whoever asks for it gets it
  const projecting = new Promise<void>((resolve) => {
    worker.on('message', (message: FromProjector) => {
      if (message.kind === 'projecting') resolve();
      else logReport(logger, message.report);
    });
  });
  await Promise.race([projecting, finished]);
  return {
    finished,
    async close() {
      closing = true;
      if (worker.threadId < 0) return; // it ended
      const exited = once(worker, 'exit');
      worker.postMessage('close');
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await exited.catch(() => undefined); // `finished` says why
      clearTimeout(timer);
    },
  };
}
