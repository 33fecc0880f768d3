import type { Running } from './lifecycle.ts';

/** Runs what goes on until it is closed. @param work ends soon after its signal. */
export function untilClosed(work: (signal: AbortSignal) => Promise<void>): Running {
  const closing = new AbortController();
  const finished = work(closing.signal);
  return {
    finished,
    async close() {
      closing.abort();
      await finished;
    },
  };
}
