/**
 * Lets a request in, and returns what it calls when it leaves; undefined where too many are inside: one more is asked to come
 * back, rather than queued in memory.
 */
export type Gate = () => (() => void) | undefined;

/** Opens a gate for so many requests. */
export function createGate(places: number): Gate {
  let taken = 0;
  return () => {
    if (taken >= places) return undefined;
    taken++;
    let inside = true;
    return () => {
      if (inside) taken--;
      inside = false;
    };
  };
}
