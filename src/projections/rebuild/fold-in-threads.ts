import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { largest } from '../../domain/extremes.ts';
import type { EventLog, Subscription } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { topicsOf } from '../concerns.ts';
import { projections } from '../registry.ts';
import { countMissing } from './at-equal-cursors.ts';
import type { Build } from './build.ts';
import { refuseRecordsGone } from './fold-shadow.ts';
import type { FoldSource, FoldThreadData } from './fold-thread.ts';

const RUN = fileURLToPath(new URL('../../../bin/run.js', import.meta.url));
const PROGRAM = 'workers/fold.ts';
const CLOSE_MS = 60_000; // a batch in flight is written first

/** A thread that folds a build ended by itself: the build stays, and is gone on with by the next rebuild. */
export class FoldThreadEnded extends Error {
  override readonly name = 'FoldThreadEnded';
  constructor(projection: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `a thread that folds ${projection} ended: ${why}; what is live stays as it is, and a rebuild goes on with what was folded`,
      { cause },
    );
  }
}

export interface Threads extends FoldSource {
  /** Records below which the start of threads takes longer than they save. */
  readonly from?: number;
  /** What each runs, for `bin/run.js`; a test has programs of its own. */
  readonly program?: string;
}

const FROM = 100_000; // a thread starts in 0.4 s compiled; one core folds that many records in 4 s

/**
 * Returns how many threads fold a build: none where there is little to fold, or where the code is not that which a thread finds
 * under the projection's name.
 */
export async function threadsFor(
  { database, log }: { readonly database: Database; readonly log: Pick<EventLog, 'ends'> },
  build: Build,
  threads: Threads | undefined,
): Promise<number> {
  if (threads === undefined) return 0;
  const { name, project } = build.projection;
  if (!projections.some((known) => known.name === name && known.project === project)) return 0;
  if ((await countMissing(database.db, build)) < (threads.from ?? FROM)) return 0;
  const partitions = [...(await log.ends(topicsOf(build.projection))).values()].map((topic) => topic.size);
  const count = Math.min(threads.threads, largest(partitions, 0));
  return count > 1 ? count : 0;
}

/**
 * Folds a build as `foldShadow` does, each partition in one of several threads. Nothing passes between threads: each reads,
 * decodes, folds and writes by connections of its own.
 */
export async function foldInThreads({
  log,
  database,
  build,
  threads,
  count,
}: {
  readonly log: EventLog;
  readonly database: Database;
  readonly build: Build;
  readonly threads: Threads;
  readonly count: number;
}): Promise<Subscription> {
  await refuseRecordsGone({ log, database, build });
  const { from: _, program = PROGRAM, ...source } = threads;
  const { version, begunAt, schema, resumed, projection } = build;
  let closing = false;
  const workers = Array.from({ length: count }, (_unused, index) => {
    const data: FoldThreadData = {
      source,
      share: { index, of: count },
      build: { name: projection.name, version, begunAt, schema, resumed },
    };
    return new Worker(RUN, { argv: [program], execArgv: [], workerData: data });
  });
  const exits = workers.map(
    (worker) =>
      new Promise<void>((resolve, reject) => {
        let fault: unknown;
        worker.on('error', (error) => {
          fault = error;
        });
        worker.once('exit', (code) => {
          if (fault === undefined && closing) resolve();
          else reject(new FoldThreadEnded(projection.name, fault ?? `it ended with code ${code}`));
        });
      }),
  );
  const finished = Promise.all(exits).then(() => undefined);
  finished.catch(() => undefined); // whoever waits gets the error; one that failed before it must not end the process
  return {
    finished,
    async close() {
      closing = true;
      await Promise.all(workers.map(closeWorker));
    },
  };
}

async function closeWorker(worker: Worker): Promise<void> {
  if (worker.threadId < 0) return; // it ended
  const exited = new Promise((resolve) => worker.once('exit', resolve)); // also of one that fails meanwhile
  worker.postMessage('end');
  const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
  await exited.finally(() => clearTimeout(timer));
}
