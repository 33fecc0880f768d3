/** Bounds what all requests in hand hold together; what does not fit is told to come back, rather than queued in memory. */
export interface Gate {
  /** Lets a request in, or gives undefined when too many are in hand. Whoever enters leaves. */
  enter(): Ticket | undefined;
}
export interface Ticket {
  /** Accounts for more bytes of this request; false when all requests together would hold too many. */
  take(bytes: number): boolean;
  leave(): void;
}

/** Opens a gate for at most so many requests and so many bytes at once. */
export function createGate(limits: { readonly requests: number; readonly bytes: number }): Gate {
  let requests = 0;
  let bytes = 0;
  return {
    enter() {
      if (requests >= limits.requests) return undefined;
      requests++;
      let mine = 0;
      let inside = true;
      return {
        take(more) {
          if (bytes + more > limits.bytes) return false;
          bytes += more;
          mine += more;
          return true;
        },
        leave() {
          if (!inside) return;
          inside = false;
          requests--;
          bytes -= mine;
        },
      };
    },
  };
}
