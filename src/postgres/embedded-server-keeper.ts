import { rest } from '../runtime/retry.ts';
import { findPostmaster } from './embedded-server-process.ts';
import type { ServerUsers } from './embedded-server-users.ts';

const LOOK_MS = 250; // two reads of small files; clients wait for 30 s
const AGAIN_MS = 1_000;

/**
 * Looks after the server as one of its users, until closed: when it was killed, or its guard was, starts it again at the same
 * port, where everybody's connections look for it. All users do so at the same moment; Postgres lets one of them win. A start
 * that fails (a full disk, a port that another program took) is tried again.
 * @param attach starts or finds the server at a port and becomes its user.
 */
export function keepServer(
  { data, users }: { readonly data: string; readonly users: ServerUsers },
  attach: (port: number) => Promise<unknown>,
  port: number,
): { close(): Promise<void> } {
  const closing = new AbortController();
  const { signal } = closing;
  const kept = keep();
  return {
    async close() {
      closing.abort();
      await kept;
    },
  };

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await restUnreferenced(LOOK_MS);
      if (signal.aborted) return;
      try {
        if (!(await findPostmaster(data)) || !users.guarded()) await attach(port);
      } catch {
        await rest(AGAIN_MS, signal); // clients report that nobody answers
      }
    }
  }

  /** Waits without keeping the process alive. */
  function restUnreferenced(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms).unref();
      signal.addEventListener('abort', done, { once: true });
      function done(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      }
    });
  }
}
