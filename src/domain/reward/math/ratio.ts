/** An exact fraction: lowest terms, the denominator above 0. */
export interface Ratio {
  readonly over: bigint;
  readonly under: bigint;
}

export const ZERO: Ratio = { over: 0n, under: 1n };
export const ONE: Ratio = { over: 1n, under: 1n };

/** Makes a fraction; null where the denominator is 0. */
export function ratio(over: bigint, under = 1n): Ratio | null {
  if (under === 0n) return null;
  const divisor = gcd(over, under);
  const sign = under < 0n ? -1n : 1n;
  return divisor === 0n ? ZERO : { over: (sign * over) / divisor, under: (sign * under) / divisor };
}

// no denominator is 0
export const addRatios = (a: Ratio, b: Ratio): Ratio => ratio(a.over * b.under + b.over * a.under, a.under * b.under) ?? ZERO;
export const timesRatios = (a: Ratio, b: Ratio): Ratio => ratio(a.over * b.over, a.under * b.under) ?? ZERO;
export const equalRatios = (a: Ratio, b: Ratio): boolean => a.over === b.over && a.under === b.under;

/**
 * Reads a decimal such as `2`, `.5`, `5.` or `1e3` exactly; null for anything else, and for powers of ten that would fill the
 * memory.
 */
export function readRatio(text: string): Ratio | null {
  const found = /^([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,3}))?$/.exec(text);
  const [whole = '', decimals = '', exponent = '0'] = found?.slice(1) ?? [];
  if (!found || whole + decimals === '') return null;
  const shift = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return shift < 0 ? ratio(digits, 10n ** BigInt(-shift)) : ratio(digits * 10n ** BigInt(shift));
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
