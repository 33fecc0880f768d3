import { rest } from '../../src/runtime/retry.ts';
import type { Account } from '../metering/account.ts';
import type { Callers } from '../metering/callers.ts';
import { overBudget } from '../metering/over-budget.ts';
import type { QueryMeter } from '../metering/query-meter.ts';

const STALL_MS = 60_000; // a client that takes nothing for so long would hold a snapshot of the database
const LONGEST_MS = 30 * 60_000; // and one that takes little

export interface TurnOptions {
  readonly callers: Pick<Callers, 'turns'>;
  readonly account: Account;
  readonly meter: QueryMeter;
  /** How long a part may wait for its turn, or for the rows of a minute, ms. */
  readonly waitMs: number;
  readonly close: () => Promise<void>;
  readonly stallMs?: number;
}

/**
 * Makes the parts of a stream one by one, each when it is its turn among the queries of the server: between them, while the
 * client takes one, others have the turn. A caller that read more rows than its minute allows waits for the next part. What
 * ends early (a client that takes nothing, one that left) closes what the stream reads from; the client sees a broken answer
 * and goes on behind its last batch.
 */
export function inTurns(
  parts: AsyncGenerator<Uint8Array>,
  { callers, account, meter, waitMs, close, stallMs = STALL_MS }: TurnOptions,
): (signal: AbortSignal) => AsyncGenerator<Uint8Array> {
  return async function* (signal) {
    const over = new AbortController();
    const until = performance.now() + LONGEST_MS;
    try {
      for (;;) {
        await pace(signal);
        const turn = await callers.turns.take(account, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]));
        const began = performance.now();
        let part: IteratorResult<Uint8Array>;
        try {
          part = await parts.next();
        } finally {
          turn();
          meter.end((performance.now() - began) / 1_000);
        }
        if (part.done) return;
        const stalled = setTimeout(() => {
          over.abort();
          void close();
        }, stallMs);
        stalled.unref(); // it holds no process that ends
        try {
          yield part.value;
        } finally {
          clearTimeout(stalled);
        }
        if (over.signal.aborted || performance.now() > until) throw new Error('the client took the table too slowly');
      }
    } finally {
      await parts.return(undefined);
      await close();
    }
  };

  async function pace(signal: AbortSignal): Promise<void> {
    const owed = account.owedMs();
    if (owed === 0) return;
    if (owed > waitMs)
      throw overBudget({
        budget: 'rows in a minute of a key',
        used: account.budget.rowsPerMinute,
        allowed: account.budget.rowsPerMinute,
        remedy: 'go on behind the last batch later',
        retryAfter: owed / 1_000,
      });
    await rest(owed, signal);
    signal.throwIfAborted();
  }
}
