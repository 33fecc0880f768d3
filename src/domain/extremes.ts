/**
 * Returns the largest number of any number of them, and `none` where there is none. As arguments of `Math.max`, a hundred thousand
 * would overflow the stack.
 */
export function largest(values: Iterable<number>, none = Number.NEGATIVE_INFINITY): number {
  let most = none;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** Returns the smallest number of any number of them, and `none` where there is none. */
export function smallest(values: Iterable<number>, none = Number.POSITIVE_INFINITY): number {
  let least = none;
  for (const value of values) least = Math.min(least, value);
  return least;
}
