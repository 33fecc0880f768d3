import { isPassingStatus } from '../../runtime/retry-after.ts';

/** What a retried call may touch of the world; tests pass their own. */
export interface World {
  readonly fetch: typeof globalThis.fetch;
  /** Waits; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Draws from [0, 1) for the jitter. It never decides what is sampled, so it needs no seed. */
  random(): number;
  /** Milliseconds of a clock that never goes back, for durations. */
  now(): number;
  /** Milliseconds since 1970, for `Retry-After` dates. */
  date(): number;
}

/** The statuses after which the same request may succeed: those that pass, a conflict of locks, and any fault of the server. */
export function isRetryableStatus(status: number): boolean {
  return isPassingStatus(status) || status === 409 || status >= 500;
}

const BASE_MS = 500;
// a server that restarts takes minutes: with six attempts the waits sum to about half a minute, then the collector decides
const CAP_MS = 30_000;

/**
 * Returns the wait before attempt `attempt + 1`: exponential from 0.5 s, capped at 30 s, and jittered over its upper half so that
 * many workers do not return at once.
 */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
  return full * (0.5 + random / 2);
}
