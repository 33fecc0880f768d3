/** Bounds the bytes of all bodies that are being read or processed together. */
export interface BodyBudget {
  /** Begins to count for a body that arrives. Whoever opens closes. */
  open(): Share;
}
/** What one body holds. */
export interface Share {
  /**
   * Accounts for more bytes. Where all together would hold too many, the largest body that has been arriving for long is evicted;
   * false when none is left that could.
   */
  take(bytes: number): boolean;
  /** Marks the body as complete: it is not evicted any more. */
  arrived(): void;
  /** Aborted when the body is evicted. */
  readonly evicted: AbortSignal;
  close(): void;
}

export const SLOW_MS = 2_000; // a body of the largest size takes less from any client near by; the others can send again

/**
 * Opens a budget of so many bytes. Bodies that arrive slowly hold a share of it and nothing else, so that any number of clients
 * who stop in the middle cannot keep out those who do not.
 */
export function createBodyBudget(limit: number, clock: () => number = () => performance.now()): BodyBudget {
  const arriving = new Set<Arriving>();
  let held = 0;

  /** Makes place for so many bytes: the largest first, for the fewest to give way. */
  function evict(bytes: number, mine: Arriving): void {
    const slow = [...arriving].filter((body) => body !== mine && clock() - body.since >= SLOW_MS);
    for (const body of slow.sort((a, b) => b.bytes - a.bytes)) {
      if (held + bytes <= limit) return;
      free(body);
      body.evicting.abort();
    }
  }
  function free(body: Arriving): void {
    arriving.delete(body);
    held -= body.bytes;
    body.bytes = 0;
  }

  return {
    open() {
      const mine: Arriving = { bytes: 0, since: clock(), evicting: new AbortController() };
      arriving.add(mine);
      return {
        evicted: mine.evicting.signal,
        take(bytes) {
          if (mine.evicting.signal.aborted) return false;
          if (held + bytes > limit && bytes <= limit) evict(bytes, mine);
          if (held + bytes > limit) return false;
          held += bytes;
          mine.bytes += bytes;
          return true;
        },
        arrived: () => void arriving.delete(mine),
        close: () => free(mine),
      };
    },
  };
}

interface Arriving {
  bytes: number;
  /** By the clock, ms. */
  readonly since: number;
  readonly evicting: AbortController;
}
