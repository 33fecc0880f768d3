import { largest } from '../extremes.ts';
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

/**
 * Sums amounts exactly, as the decimals that they are written as, and rounds once: equal amounts have equal sums in any order.
 * Postgres comes to the same by `exactSum` of `src/postgres/exact-sum.ts`.
 */
export function sumAmounts(amounts: readonly number[]): number {
  if (amounts.every(Number.isSafeInteger) && amounts.length < 2 ** 20 && amounts.every((amount) => Math.abs(amount) < 2 ** 32))
    return amounts.reduce((sum, amount) => sum + amount, 0);
  const decimals = amounts.map(decimalOf);
  const scale = largest(
    decimals.map((decimal) => decimal.scale),
    0,
  );
  const total = decimals.reduce((sum, decimal) => sum + decimal.digits * 10n ** BigInt(scale - decimal.scale), 0n);
  return Number(`${total}e-${scale}`);
}

/** @returns the mean of amounts, by the same rule: of equal amounts that amount itself; null of none. */
export function meanAmount(amounts: readonly number[]): number | null {
  const [first] = amounts;
  if (first === undefined || amounts.every((amount) => amount === first)) return first ?? null;
  return sumAmounts(amounts) / amounts.length;
}

/** @returns the shortest decimal that is read as the number: `digits` / 10 ^ `scale`. */
function decimalOf(amount: number): { readonly digits: bigint; readonly scale: number } {
  const [mantissa = '0', exponent = '0'] = String(amount).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const [digits, scale] = [BigInt(whole + fraction), fraction.length - Number(exponent)];
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/** Describes what a value that is no amount is instead. */
export function whyNoAmount(value: unknown): string {
  return typeof value === 'number' && Number.isFinite(value)
    ? `is not between -${AMOUNT_LIMIT} and ${AMOUNT_LIMIT}`
    : 'is no finite number';
}
