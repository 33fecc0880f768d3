import createLimit from 'p-limit';

/** Returns a function that begins work in the order of its calls, at most so much at a time. */
export function limitOf(atATime: number): <T>(work: () => Promise<T>) => Promise<T> {
  return createLimit(atATime);
}
