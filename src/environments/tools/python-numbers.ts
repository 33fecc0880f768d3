/** A number as Python has it: whole ones are exact (bigint), the others doubles. One double makes a result a double. */
export type Value = number | bigint;

const POWER_BITS = 10_000; // of a whole power: some 3,000 digits, computed in no time

/** Returns the double nearest to a value; NaN for none. */
export function toDouble(value: Value | undefined): number {
  return value === undefined ? Number.NaN : Number(value);
}

export function isZero(value: Value): boolean {
  return value === 0 || value === 0n;
}

export function negate(value: Value): Value {
  return -value;
}

export function add(a: Value, b: Value): Value {
  return typeof a === 'bigint' && typeof b === 'bigint' ? a + b : Number(a) + Number(b);
}

export function subtract(a: Value, b: Value): Value {
  return typeof a === 'bigint' && typeof b === 'bigint' ? a - b : Number(a) - Number(b);
}

export function multiply(a: Value, b: Value): Value {
  return typeof a === 'bigint' && typeof b === 'bigint' ? a * b : Number(a) * Number(b);
}

/** Divides as `/`: always a double, that nearest to the quotient, however large the two are. @param b not 0. */
export function divide(a: Value, b: Value): Value {
  if (typeof a !== 'bigint' || typeof b !== 'bigint') return Number(a) / Number(b);
  const [x, y] = [Number(a), Number(b)];
  if (Number.isSafeInteger(x) && Number.isSafeInteger(y)) return x / y;
  const [over, under] = [a < 0n ? -a : a, b < 0n ? -b : b];
  // At least 66 bits of the quotient, the last of them set when anything is left over: the conversion to a double then rounds as
  // the exact quotient would.
  const shift = Math.max(0, 66 - bitsOf(over) + bitsOf(under));
  const shifted = over << BigInt(shift);
  const quotient = shifted / under;
  const sticky = shifted % under === 0n ? quotient : quotient | 1n;
  const magnitude = Number(sticky) * 2 ** -Math.min(shift, 1_000) * 2 ** -Math.max(0, shift - 1_000);
  return a < 0n === b < 0n ? magnitude : -magnitude;
}

/** Divides as `//`: down to a whole number. @param b not 0. */
export function floorDivide(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return (a - (remainder(a, b) as bigint)) / b; // two bigints leave one
  const [x, y] = [Number(a), Number(b)];
  const rest = Number(remainder(x, y));
  const quotient = (x - rest) / y; // whole but for its last bit, as in CPython
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** Returns the rest of `//`, which has the sign of the divisor. It is exact: `%` of doubles loses no bit. @param b not 0. */
export function remainder(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') {
    const rest = a % b;
    return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
  }
  const [x, y] = [Number(a), Number(b)];
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

/**
 * Raises to a power: exact for whole numbers, a double for a negative exponent. @throws RangeError when the whole result has too
 * many digits.
 */
export function power(a: Value, b: Value): Value {
  if (typeof a !== 'bigint' || typeof b !== 'bigint' || b < 0n) return Number(a) ** Number(b);
  if (a === 0n || a === 1n || a === -1n) return b === 0n || (a !== 0n && b % 2n === 0n) ? 1n : a;
  if (b * BigInt(bitsOf(a < 0n ? -a : a)) > POWER_BITS) throw new RangeError('the result is no finite number');
  return a ** b;
}

function bitsOf(value: bigint): number {
  return value.toString(2).length;
}
