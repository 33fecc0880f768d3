import { doubling, rest, retry } from '../runtime/retry.ts';
import { logFault } from './embedded-log-fault.ts';
import { HandlerThrew, Member } from './embedded-log-member.ts';
import type { LogTopic } from './embedded-log-topics.ts';
import type { SubscribeOptions, Subscription } from './event-log.ts';

const pauseOf = doubling(50, 2_000);
const STABLE_MS = 5_000; // a connection that lived this long counts as healed

/**
 * Joins a group and hands over its records until closed. A lost connection is made again, with growing pauses, for `patienceMs`;
 * after that, or on a fault that no new connection heals, `finished` rejects with a LogError.
 */
export async function subscribeEmbedded(
  url: string,
  topics: readonly LogTopic[],
  options: SubscribeOptions,
  { patienceMs, leaseMs }: { readonly patienceMs: number; readonly leaseMs: number },
): Promise<Subscription> {
  const closing = new AbortController();
  const first = await join();
  const finished = run(first);
  const ended = finished.catch(() => undefined);
  return {
    finished,
    async close() {
      closing.abort();
      await ended;
    },
  };

  async function join(): Promise<Member> {
    return Member.join(url, topics, options, leaseMs).catch((error: unknown) => {
      throw logFault(`joining the group ${options.group}`, error);
    });
  }

  async function run(start: Member): Promise<void> {
    let member = start;
    let healthy = Date.now();
    // A member that joined serves in any case: that it is to end shows there, and there it leaves.
    for (;;) {
      const joined = Date.now();
      try {
        await member.serve(closing.signal);
      } catch (error) {
        if (error instanceof HandlerThrew) throw error.cause;
        const fault = logFault(`reading the log as group ${options.group}`, error);
        if (!fault.retryable) throw fault;
      }
      if (closing.signal.aborted) return;
      if (Date.now() - joined > STABLE_MS) healthy = Date.now();
      const next = await rejoin(healthy + patienceMs);
      if (!next) return;
      member = next;
    }
  }

  async function rejoin(end: number): Promise<Member | undefined> {
    const { signal } = closing;
    await rest(pauseOf(1), signal);
    return retry(async () => (signal.aborted ? undefined : join()), {
      signal,
      sleep: rest,
      pauseMs: (tries) => pauseOf(tries + 1),
      again: ({ error }) => {
        const fault = logFault(`joining the group ${options.group} again`, error);
        if (!fault.retryable || Date.now() > end) throw fault;
        return true;
      },
    });
  }
}
