/** Does works of one name one after another, those of different names at the same time. */
export type Turns = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Opens turns: a work begins when those of its name that were handed in before it have ended, in whatever way. */
export function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const turn = (last.get(name) ?? Promise.resolve()).then(work, work);
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, ended);
    try {
      return await turn;
    } finally {
      if (last.get(name) === ended) last.delete(name);
    }
  };
}
