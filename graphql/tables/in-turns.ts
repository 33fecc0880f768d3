const STALL_MS = 60_000; // a client that takes nothing for so long would hold a snapshot of the database
const LONGEST_MS = 30 * 60_000; // and one that takes little

export interface TurnOptions {
  /** Waits for a turn among the queries; what it returns gives it back. */
  readonly enter: (signal: AbortSignal) => Promise<() => void>;
  readonly close: () => Promise<void>;
  readonly stallMs?: number;
}

/**
 * Makes the parts of a stream one by one, each when it is its turn among the queries of the server: between them, while the
 * client takes one, others have the turn. What ends early (a client that takes nothing, one that left) closes what the stream
 * reads from; the client sees a broken answer and goes on behind its last batch.
 */
export function inTurns(
  parts: AsyncGenerator<Uint8Array>,
  { enter, close, stallMs = STALL_MS }: TurnOptions,
): (signal: AbortSignal) => AsyncGenerator<Uint8Array> {
  return async function* (signal) {
    const over = new AbortController();
    const until = performance.now() + LONGEST_MS;
    try {
      for (;;) {
        const leave = await enter(signal);
        const part = await parts.next().finally(leave);
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
}
