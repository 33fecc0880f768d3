import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Platform } from '../platform/open-platform.ts';
import type { Config, LogLevel } from '../runtime/config.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import type { MeasuredElsewhere } from '../runtime/metrics.ts';

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url));
const PROGRAM = 'workers/thread.ts';
/** A slice in flight is written first; who only reads is not waited for longer than its process is (`lifecycle.ts`). */
const CLOSE_MS: Readonly<Record<ThreadRole, number>> = { project: 30_000, queries: 5_000 };

const YOUNG_MB = 192; // four times what V8 takes: an answer of some megabytes is dropped before it is copied

/** What runs in a thread of a process that does other things too. */
export type ThreadRole = 'project' | 'queries';

/** What a thread is started with: its configuration names the database, so that it starts no server. */
export interface ThreadData {
  readonly role: ThreadRole;
  readonly config: Config;
}

/** What a thread is asked: to end, or for its measurements. */
export type ToThread = 'close' | 'measure';

/** What a thread says. That it failed is its end. */
export type FromThread =
  | { readonly kind: 'ready'; readonly url: string | null }
  | { readonly kind: 'measured'; readonly metrics: MeasuredElsewhere }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly fields: Fields };

/** A thread ended by itself. */
export class ThreadEnded extends Error {
  override readonly name = 'ThreadEnded';
}

export interface ThreadOptions {
  /** Megabytes of its heap; more ends the thread alone. */
  readonly heapMb?: number;
  /** What it runs, for `bin/run.js`; a test has programs of its own. */
  readonly program?: string;
  /** Ends a thread that still starts, which may wait for the database. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a role in a thread of this process, with connections of its own, so that it takes nothing from the event loop that serves
 * or collects. Resolves when the role is at work; `url` is where it serves, null where it does not. @throws ThreadEnded.
 */
export async function startInThread(
  role: ThreadRole,
  { config, databaseUrl, directUrl, metrics }: Pick<Platform, 'config' | 'databaseUrl' | 'directUrl' | 'metrics'>,
  logger: Logger,
  { heapMb, program = PROGRAM, signal }: ThreadOptions = {},
): Promise<Running & { readonly url: string | null }> {
  const data: ThreadData = { role, config: { ...config, databaseUrl, databaseDirectUrl: directUrl, probePort: null } }; // its process has the port
  const worker = new Worker(RUN, {
    argv: [program],
    execArgv: [],
    workerData: data,
    ...(heapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: YOUNG_MB } }),
  });
  let closing = false;
  const finished = new Promise<void>((resolve, reject) => {
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.once('exit', (code) => {
      if (closing && cause === undefined) return resolve();
      const why = cause instanceof Error ? cause.message : `it ended with code ${code}`;
      reject(new ThreadEnded(`the thread of the role ${role} ended: ${why}`, { cause }));
    });
  });
  finished.catch(() => undefined); // whoever asks for it gets it
  const exclude = metrics.include(() => measuredBy(worker));
  worker.once('exit', exclude);
  const ready = new Promise<string | null>((resolve) => {
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'ready') resolve(message.url);
      else if (message.kind === 'log') logger[message.level](message.message, message.fields);
    });
  });
  const stop = () => worker.postMessage('close' satisfies ToThread);
  signal?.addEventListener('abort', stop, { once: true });
  const url = await Promise.race([ready, finished.then(() => null)]).finally(() => signal?.removeEventListener('abort', stop));
  return {
    url,
    finished,
    async close() {
      closing = true;
      if (worker.threadId < 0) return; // it ended
      const exited = once(worker, 'exit');
      worker.postMessage('close' satisfies ToThread);
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS[role]);
      await exited.catch(() => undefined); // `finished` says why
      clearTimeout(timer);
    },
  };
}

const MEASURED_MS = 1_000; // a thread that is busy for longer is left out of a scrape

/** Asks a thread for its measurements; none where it does not answer in time. */
async function measuredBy(worker: Worker): Promise<MeasuredElsewhere> {
  const answered = new Promise<MeasuredElsewhere>((resolve) => {
    const take = (message: FromThread) => {
      if (message.kind === 'measured') resolve(message.metrics);
    };
    worker.on('message', take);
    setTimeout(() => {
      worker.off('message', take);
      resolve([]);
    }, MEASURED_MS).unref();
  });
  worker.postMessage('measure' satisfies ToThread);
  return answered;
}
