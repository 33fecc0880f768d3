import createLimit from 'p-limit';

/** Returns a function that begins work in the order of its calls, at most so much at a time. */
export function limitOf(atATime: number): <T>(work: () => Promise<T>) => Promise<T> {
  return createLimit(atATime);
}

/**
 * Does work for each item, at most so much at a time. After a failure no other begins, and it rejects when those under way have
 * ended: what the caller tries again then has no earlier attempt beside it.
 */
export async function forEachOf<T>(items: Iterable<T>, atATime: number, work: (item: T) => Promise<void>): Promise<void> {
  const inTurn = limitOf(atATime);
  const failures: unknown[] = [];
  const doOne = async (item: T): Promise<void> => {
    if (failures.length > 0) return;
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all([...items].map((item) => inTurn(() => doOne(item))));
  if (failures.length > 0) throw failures[0];
}
