import type { EventEmitter } from 'node:events';
import { outliveClosedPipes } from './closed-pipes.ts';
import { createLogger, type Logger } from './logger.ts';
import { messageOf } from './message-of.ts';

/** What a worker process runs: `finished` settles when it ends by itself, `close` ends it. */
export interface Running {
  readonly finished: Promise<unknown>;
  /** Before it is closed because it was asked to stop: lets those who send it work notice. */
  drain?(): Promise<void>;
  close(): Promise<void>;
}

export interface LifecycleOptions {
  readonly logger?: Logger;
  /** How long a graceful end may take, start included; then the process ends anyway. */
  readonly closeMs?: number;
  /** Whether it has work that ends, and that a stop interrupts; it serves until it is stopped unless given. */
  readonly ends?: boolean;
  /** Where signals and unhandled errors arrive; the process itself but for tests. */
  readonly process?: Pick<EventEmitter, 'on' | 'off'>;
  readonly exit?: (code: number) => void;
  /** Reports why it could not start; the logger does where it is left out. */
  readonly reportStartFault?: (error: unknown) => void;
}

/**
 * Runs a worker until it ends or is asked to stop, then ends the process. States: starting → running → closing → ended.
 * - SIGINT or SIGTERM aborts `signal` and closes; a second one ends at once.
 * - `finished` resolved: closes, exit 0. Rejected, an unhandled rejection or an uncaught error: logged once, closes, exit 1.
 * - Exit codes: 0 stopped as asked, 1 a fault or a close that took too long, 128 + signal when forced, or when work that `ends` was
 *   interrupted: what started the process, such as a Job of Kubernetes, would take 0 for the end of that work.
 * The process is ended by `exit`, not by an empty event loop: a client library that forgets a timer must not keep a closed worker
 * alive.
 */
export async function runUntilStopped(
  start: (signal: AbortSignal) => Promise<Running>,
  options: LifecycleOptions = {},
): Promise<void> {
  const { logger = createLogger(), closeMs = 10_000, ends = false, process: source = process, exit = process.exit } = options;
  outliveClosedPipes();
  const stopping = new AbortController();
  let end: (why: Ending) => void = () => undefined;
  const ending = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const onSignal = (name: keyof typeof SIGNALS) => {
    if (stopping.signal.aborted) {
      logger.warn('stopped by force', { signal: name });
      exit(128 + SIGNALS[name]);
      return;
    }
    logger.info('stopping', { signal: name });
    end({ kind: 'asked', signal: SIGNALS[name] });
    stopping.abort();
  };
  const onFault = (error: unknown) => end({ kind: 'fault', error });
  for (const name of NAMES) source.on(name, onSignal);
  for (const event of FAULTS) source.on(event, onFault);

  const started = start(stopping.signal);
  let isStarted = false;
  started
    .then((running) => {
      isStarted = true;
      return running.finished;
    })
    .then(() => end({ kind: 'finished' }))
    .catch(onFault);
  const why = await ending;
  // Logged here and nowhere else: what fails after this is a consequence, and a fault that the stop itself caused lost the race.
  if (why.kind === 'fault') {
    if (options.reportStartFault && !isStarted) options.reportStartFault(why.error);
    else logger.error(messageOf(why.error), { error: why.error });
  }
  stopping.abort();
  if (why.kind === 'asked' && isStarted) {
    const faulty = new Promise<void>((resolve) => source.on('uncaughtException', resolve as () => void));
    await Promise.race([started.then((running) => running.drain?.()), faulty]);
  }
  const closed = await withinLimit(closeStarted(started, why, logger), closeMs);
  if (closed === 'late') logger.error(`did not close within ${closeMs / 1_000} s; ending anyway`);

  for (const name of NAMES) source.off(name, onSignal);
  for (const event of FAULTS) source.off(event, onFault);
  if (why.kind === 'fault' || closed !== 'closed') exit(1);
  else exit(why.kind === 'asked' && ends ? 128 + why.signal : 0);
}

type Ending =
  | { readonly kind: 'asked'; readonly signal: number }
  | { readonly kind: 'finished' }
  | { readonly kind: 'fault'; readonly error: unknown };
const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
const NAMES = ['SIGINT', 'SIGTERM'] as const;
const FAULTS = ['unhandledRejection', 'uncaughtException'] as const;

async function closeStarted(started: Promise<Running>, why: Ending, logger: Logger): Promise<'closed' | 'failed'> {
  let running: Running;
  try {
    running = await started;
  } catch {
    return 'closed'; // a start that failed was logged as the fault; one that was aborted opened nothing
  }
  try {
    await running.close();
    return 'closed';
  } catch (error) {
    if (why.kind !== 'fault') logger.error('could not close cleanly', { error });
    return 'failed';
  }
}

async function withinLimit<T>(work: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late');
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
