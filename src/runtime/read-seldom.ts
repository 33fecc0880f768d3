/**
 * Makes a reader of what is read: one call at a time, which all readers wait for, and its result for so long after. A fault is not kept.
 */
export function readSeldom<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; until: number } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.value;
    const call = { value: read(), until: Number.POSITIVE_INFINITY };
    last = call;
    call.value.then(
      () => {
        call.until = performance.now() + ms;
      },
      () => {
        call.until = 0;
      },
    );
    return call.value;
  };
}
