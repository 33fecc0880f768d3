/** Runs work that shares a key one after the other, and all else at once. */
export interface Exclusive {
  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>;
}

/** Makes a lock by keys. All keys are taken in one step, so two holders never wait for each other. */
export function createExclusive(): Exclusive {
  const held = new Map<string, Promise<unknown>>();
  return {
    async run(keys, work) {
      for (;;) {
        const others = new Set(keys.map((key) => held.get(key)).filter((holder) => holder !== undefined));
        if (others.size === 0) break;
        await Promise.allSettled(others);
      }
      const mine = work();
      for (const key of keys) held.set(key, mine);
      try {
        return await mine;
      } finally {
        for (const key of keys) held.delete(key);
      }
    },
  };
}
