/**
 * The largest magnitude of a number that is added up along paths, over visits or over time. A double ends at 1.8e308: 2^53
 * amounts sum to less than 1e116, and the squares of such sums, which a variance adds up, to less than 1e248. So no sum
 * overflows, whatever it begins with and in whatever batches it is computed.
 */
export const AMOUNT_LIMIT = 1e100;

/** Whether a value is a number that may be added up. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= AMOUNT_LIMIT; // false for NaN
}

/** Describes what a value that is no amount is instead. */
export function whyNoAmount(value: unknown): string {
  return typeof value === 'number' && Number.isFinite(value)
    ? `is not between -${AMOUNT_LIMIT} and ${AMOUNT_LIMIT}`
    : 'is no finite number';
}
