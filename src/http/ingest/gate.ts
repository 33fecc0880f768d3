/** Bounds how many requests are worked on at once; one more is asked to come back, rather than queued in memory. */
export interface Gate {
  /** Lets a request in, or returns undefined when too many are in flight. Whoever enters leaves. */
  enter(): Ticket | undefined;
}
export interface Ticket {
  leave(): void;
}

/**
 * Opens a gate for so many requests. A request with a body enters when it has arrived: a client that sends slowly would hold the
 * place of one that could be served.
 */
export function createGate(places: number): Gate {
  let taken = 0;
  return {
    enter() {
      if (taken >= places) return undefined;
      taken++;
      let inside = true;
      return {
        leave() {
          if (inside) taken--;
          inside = false;
        },
      };
    },
  };
}
