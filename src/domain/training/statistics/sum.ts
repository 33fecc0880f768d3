/** A running sum that carries what rounding takes away. */
export interface RunningSum {
  add(value: number): void;
  total(): number;
}

/**
 * Starts a compensated sum (Neumaier 1974): its error does not grow with the number of terms, so the order of rows does not show
 * in the digits that are compared. NaN and infinities come out as in a plain sum.
 */
export function startSum(): RunningSum {
  let sum = 0;
  let lost = 0;
  return {
    add(value) {
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    },
    total: () => (Number.isFinite(sum) ? sum + lost : sum),
  };
}

/** Sums values with compensation; 0 for none. */
export function sumOf(values: Iterable<number>): number {
  const sum = startSum();
  for (const value of values) sum.add(value);
  return sum.total();
}
