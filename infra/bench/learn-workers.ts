import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TrainPlan } from '../../src/usecases/train/train-plan.ts';
import type { Lesson, Trained } from './learn-lesson.ts';
import type { FromWorker, ToWorker } from './learn-worker.ts';

export interface Teaching {
  readonly lessons: readonly { readonly lesson: Lesson; readonly plan: TrainPlan }[];
  /** Each with an embedded database of its own. */
  readonly processes: number;
  /** Trainings at a time in each: while one waits for the disk or for its slowest group, another computes. */
  readonly atOnce: number;
  readonly signal: AbortSignal;
  readonly onTrained: (learned: Trained) => Promise<void> | void;
}

/**
 * Trains all lessons, in their order, by several processes; an aborted signal leaves those in flight. @throws Error naming the
 * first training that failed.
 */
export async function teachAll(teaching: Teaching): Promise<void> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([teaching.signal, stopping.signal]);
  const queue = teaching.lessons.values();
  const works = Array.from({ length: Math.min(teaching.processes, teaching.lessons.length) }, () =>
    employ({ ...teaching, signal }, queue).catch((error: unknown) => {
      stopping.abort(); // the others need not go on
      throw error;
    }),
  );
  const failed = (await Promise.allSettled(works)).find((work) => work.status === 'rejected');
  if (failed) throw failed.reason;
}

async function employ(
  { atOnce, signal, onTrained }: Teaching,
  queue: Iterator<Teaching['lessons'][number], unknown>,
): Promise<void> {
  const child = fork(fileURLToPath(new URL('./learn-worker.ts', import.meta.url)));
  const ended = once(child, 'exit');
  const stop = () => order(child, { kind: 'stop' });
  signal.addEventListener('abort', stop, { once: true });
  let fault: unknown = null;
  let inFlight = 0;
  const handOut = () => {
    const next = signal.aborted || fault !== null ? undefined : queue.next();
    if (next && !next.done) {
      inFlight++;
      order(child, { kind: 'train', ...next.value });
    } else if (inFlight === 0) order(child, { kind: 'end' });
  };
  child.on('message', (message: FromWorker) => {
    if (message.kind === 'ready') {
      for (let i = 0; i < atOnce; i++) handOut();
      return;
    }
    inFlight--;
    if (message.kind === 'failed') {
      const { world, estimator, seed } = message.lesson;
      fault ??= new Error(`${world}, ${estimator}, seed ${seed}: ${message.reason}`);
      stop();
      return;
    }
    // The next one begins at once; what cannot be kept is reported at the end.
    Promise.resolve(onTrained(message.learned)).catch((error: unknown) => {
      fault ??= error;
    });
    handOut();
  });
  const [code] = await ended;
  signal.removeEventListener('abort', stop);
  if (fault !== null) throw fault;
  if (code !== 0) throw new Error(`a process of the bench ended with ${code}; its output is above`);
}

/** Sends something to a process that may just have ended. */
function order(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message, () => undefined);
}
