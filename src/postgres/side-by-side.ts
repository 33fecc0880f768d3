type Answers<T extends readonly (() => unknown)[]> = { -readonly [I in keyof T]: Awaited<ReturnType<T[I]>> };

/**
 * Asks for several things that do not need each other's answers; a transaction sends their statements one after the other, in
 * this order. Returns the answers after the last of them, also where one fails. @throws what failed first.
 */
export async function sideBySide<const T extends readonly (() => unknown)[]>(...asks: T): Promise<Answers<T>> {
  return (await settled(asks.map(async (ask) => ask()))) as Answers<T>; // in their order
}

/** Returns the answers to what was asked side by side, when all have come. @throws what failed first. */
export async function settled<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  const ends = await Promise.allSettled(asked);
  const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (failures.length > 0) throw failures.find((failure) => !isConsequence(failure)) ?? failures[0];
  return Promise.all(asked);
}

/** Of a statement that came after one that failed in its transaction. */
function isConsequence(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === '25P02';
}
