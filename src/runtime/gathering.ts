interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that hands its items to `work` one call at a time: what comes while a call is under way waits, and goes
 * with all that waited in the next one. A throw of `work` rejects every item of its call.
 */
export function gathering<T, R>(work: (items: readonly T[]) => Promise<R>): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = [];
  let busy = false;

  async function workOff(): Promise<void> {
    busy = true;
    while (waiting.length > 0) {
      const taken = waiting;
      waiting = [];
      try {
        const result = await work(taken.map(({ item }) => item));
        for (const { resolve } of taken) resolve(result);
      } catch (error) {
        for (const { reject } of taken) reject(error);
      }
    }
    busy = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!busy) void workOff();
    });
}
