import { doubling, rest, retry } from './retry.ts';

export interface RetryTransientOptions {
  /** Names the errors that pass by themselves. */
  readonly passes: (error: unknown) => boolean;
  /** Called for every fault that is waited out. */
  readonly onFault: (error: unknown) => void;
  readonly signal: AbortSignal;
  /** Names those that are waited out for as long as they take: somebody repairs what is away, and nothing here can. */
  readonly unlimited?: (error: unknown) => boolean;
  /** For how long the others are waited out, one after the other, ms; then the last one is thrown. */
  readonly limitMs?: number;
  /** Ms since any moment; a test's own clock. */
  readonly now?: () => number;
}

const LIMIT_MS = 15 * 60_000; // a server of somebody else's that is restarted, read models that catch up
const HEALED_MS = 60_000; // work that went on for so long before the next fault: that one is another trouble
const pauseOf = doubling(200, 5_000);

/**
 * Does work that can be begun again, again and again until it is done, while what goes wrong passes by itself: a worker that
 * waits keeps its place, and nobody has to start it. @throws what does not pass; the last fault when its limit is over; the fault
 * in flight once the signal aborts.
 */
export function retryTransient<T>(work: () => Promise<T>, options: RetryTransientOptions): Promise<T> {
  const { passes, unlimited = () => false, onFault, signal, limitMs = LIMIT_MS, now = () => performance.now() } = options;
  let [since, faults] = [now(), 0];
  return retry(work, {
    signal,
    now,
    sleep: rest, // an abort shows at the next fault, or in the work
    pauseMs: (_tries, lastedMs) => {
      if (lastedMs > HEALED_MS) [since, faults] = [now() - lastedMs, 0];
      return pauseOf(++faults);
    },
    again: ({ error }) => {
      if (signal.aborted || !passes(error)) return false;
      if (unlimited(error))
        since = now(); // what follows it has all its time
      else if (now() - since > limitMs) return false;
      onFault(error);
      return true;
    },
  });
}
