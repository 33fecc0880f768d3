import { setTimeout as delay } from 'node:timers/promises';

/** A try that failed. */
export interface Failure {
  readonly error: unknown;
  /** The tries so far, this one included. */
  readonly tries: number;
  /** Ms since the first try began. */
  readonly elapsedMs: number;
  /** Ms until the next try would begin. */
  readonly pauseMs: number;
}

export interface RetryOptions {
  /** Whether the work is tried again; else its error is thrown. May throw another one that explains more. */
  readonly again: (failure: Failure) => boolean;
  /** The pause before the next try, by the tries so far and how long the last one took in ms. */
  readonly pauseMs: number | ((tries: number, lastedMs: number) => number);
  /** Ends a pause: `retry` rejects with an AbortError then, unless `sleep` is `rest`. */
  readonly signal?: AbortSignal | undefined;
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** Ms since any moment; a test's own clock. */
  readonly now?: (() => number) | undefined;
}

const NEVER = new AbortController().signal;

/**
 * Does work that may be tried again until it succeeds. Which errors are tried again and for how long is decided by `again`
 * alone. @param work is passed the number of its try, from 1.
 */
export async function retry<T>(work: (tries: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { again, pauseMs, signal = NEVER, sleep = wait, now = () => performance.now() } = options;
  const began = now();
  for (let tries = 1; ; tries++) {
    const tried = now();
    try {
      return await work(tries);
    } catch (error) {
      const pause = typeof pauseMs === 'number' ? pauseMs : pauseMs(tries, now() - tried);
      if (!again({ error, tries, elapsedMs: now() - began, pauseMs: pause })) throw error;
      if (pause > 0) await sleep(pause, signal);
    }
  }
}

/** Returns pauses that double from `first` ms with every try, up to `longest`. */
export function doubling(first: number, longest: number): (tries: number) => number {
  return (tries) => Math.min(longest, first * 2 ** (tries - 1));
}

/** Waits. An abort ends the wait, and nothing is thrown: whoever waits looks at the signal. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, signal).catch(() => undefined);
}

/** Waits. @throws AbortError when the signal ends the wait. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal });
}
