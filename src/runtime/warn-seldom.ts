import type { Logger } from './logger.ts';

const SELDOM_MS = 60_000;

/** Returns what logs why work waits: the first time, and then at most once a minute, however often it is tried meanwhile. */
export function warnSeldom(
  logger: Logger,
  message: string,
  now: () => number = () => performance.now(),
): (error: unknown) => void {
  let due = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (now() < due) return;
    due = now() + SELDOM_MS;
    logger.warn(message, { error: error instanceof Error ? error.message : String(error) });
  };
}
