import { setTimeout as delay } from 'node:timers/promises';
import type { Subscription } from '../log/event-log.ts';
import { rest, retry } from '../runtime/retry.ts';
import { isTransientFault } from './transient-fault.ts';

const LOOK_MS = 1_000; // one statement; a crash of the database takes back less than a second, a restored copy hours
const RETRY_MS = 500;

/**
 * Subscribes, and subscribes again whenever the cursors lie below what was reported to the log as done: the database crashed
 * (projections commit without waiting for its disk) or was restored from an older copy. The log would otherwise hand over what
 * was lost only with the next record of each partition, which may never come.
 * @param regressed returns whether a cursor lies below; a fault of the database is no answer, and is asked again.
 */
export async function resubscribeOnRegression(
  subscribe: () => Promise<Subscription>,
  regressed: () => Promise<boolean>,
): Promise<Subscription> {
  const closing = new AbortController();
  let current = await subscribe();
  const finished = run();
  finished.catch(() => undefined); // whoever asks for it gets it
  return {
    finished,
    async close() {
      closing.abort();
      await current.close();
      await finished.catch(() => undefined);
    },
  };

  async function run(): Promise<void> {
    for (;;) {
      const subscription = current;
      const over = new AbortController();
      const ended = subscription.finished.finally(() => over.abort());
      const lost = await Promise.race([ended.then(() => false), untilLost(AbortSignal.any([over.signal, closing.signal]))]);
      if (!lost || closing.signal.aborted) return ended;
      await subscription.close();
      const next = await again();
      if (!next) return;
      current = next;
      if (closing.signal.aborted) return next.close(); // closed while it joined
    }
  }

  /** Resolves with true when the cursors regressed, with false when nobody asks any more. */
  async function untilLost(stop: AbortSignal): Promise<boolean> {
    while (!stop.aborted) {
      await delay(LOOK_MS, undefined, { signal: stop, ref: false }).catch(() => undefined); // the stop ends the pause
      if (!stop.aborted && (await regressed().catch(() => false))) return true;
    }
    return false;
  }

  function again(): Promise<Subscription | undefined> {
    const { signal } = closing;
    return retry(async () => (signal.aborted ? undefined : subscribe()), {
      signal,
      sleep: rest,
      pauseMs: RETRY_MS,
      again: ({ error }) => isTransientFault(error),
    });
  }
}
