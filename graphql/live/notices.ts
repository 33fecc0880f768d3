import { listen } from '../../src/postgres/notices.ts';
import { CURSOR_CHANNEL } from '../../src/projections/runner.ts';

/**
 * Word that cursors moved. It is counted, not queued: take `count`, look at the tables, then wait `beyond(count)`. What came between the two
 * is already beyond, so no move is missed. Waiters set a limit and look again: a notice may be lost while its connection is.
 */
export interface Notices {
  readonly count: number;
  /** Resolves when more than `count` notices came, when `limitMs` has passed, or when the signal aborts. Never rejects. */
  beyond(count: number, limitMs: number, signal?: AbortSignal): Promise<void>;
}

/** Counts the moves of cursors in a database, all waiters over one connection. Who opens closes. */
export async function openNotices(url: string): Promise<Notices & { close(): Promise<void> }> {
  const notices = countNotices();
  const listening = await listen(url, [CURSOR_CHANNEL], notices.notify, { onReconnect: notices.notify });
  return Object.assign(notices, {
    async close() {
      notices.notify(); // whoever waits looks once more
      await listening.close();
    },
  });
}

function countNotices(): Notices & { notify(): void } {
  const waiters = new Set<() => void>();
  let count = 0;
  return {
    get count() {
      return count;
    },
    notify() {
      count++;
      for (const wake of [...waiters]) wake();
    },
    async beyond(seen, limitMs, signal) {
      if (count > seen || signal?.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, limitMs);
        function done(): void {
          clearTimeout(timer);
          waiters.delete(done);
          signal?.removeEventListener('abort', done);
          resolve();
        }
        waiters.add(done);
        signal?.addEventListener('abort', done, { once: true });
      });
    },
  };
}
