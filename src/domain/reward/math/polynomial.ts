import { addRatios, equalRatios, ONE, type Ratio, ratio, timesRatios, ZERO } from './ratio.ts';

/**
 * A sum of exact multiples of products of generators: variables, pi, prime numbers under roots, and whole expressions that
 * nothing is known of. Exponents are fractions. `2` to a half and `3` to a half are generators that no sum of fractions equals
 * (Besicovitch 1940), so a sum of them is zero only where no term is left.
 */
export type Polynomial = ReadonlyMap<string, Term>;

export interface Term {
  readonly factor: Ratio;
  /** By generator; no exponent is 0. */
  readonly powers: ReadonlyMap<string, Ratio>;
}

/** The answer was given up on: there is no such value, or it is larger than any answer. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

const TERMS = 400; // (x+y)^9 to the ninth has 82; a grader must not be kept busy by an answer
const BITS = 4_096;

export function constant(value: Ratio): Polynomial {
  return sumTerms([{ factor: value, powers: new Map() }]);
}

export function generator(name: string, exponent: Ratio = ONE): Polynomial {
  return sumTerms([{ factor: ONE, powers: new Map([[name, exponent]]) }]);
}

export function addPolynomials(a: Polynomial, b: Polynomial): Polynomial {
  return sumTerms([...a.values(), ...b.values()]);
}

/** @throws TooLarge. */
export function multiplyPolynomials(a: Polynomial, b: Polynomial): Polynomial {
  if (a.size * b.size > TERMS * 10) throw new TooLarge();
  return sumTerms([...a.values()].flatMap((x) => [...b.values()].map((y) => multiplyTerms(x, y))));
}

export function negate(a: Polynomial): Polynomial {
  return multiplyPolynomials(a, constant({ over: -1n, under: 1n }));
}

/** Returns the value of a polynomial that is a number; null for any other. */
export function constantOf(a: Polynomial): Ratio | null {
  if (a.size === 0) return ZERO;
  const [term] = a.values();
  return a.size === 1 && term?.powers.size === 0 ? term.factor : null;
}

/** Names a polynomial: equal ones have equal names. */
export function nameOf(a: Polynomial): string {
  return [...a.entries()]
    .map(([key, { factor }]) => `${factor.over}/${factor.under}${key}`)
    .sort()
    .join('+');
}

function sumTerms(terms: readonly Term[]): Polynomial {
  const sums = new Map<string, Term>();
  for (const term of terms) {
    const key = [...term.powers]
      .map(([name, { over, under }]) => `·${name}^${over}/${under}`)
      .sort()
      .join('');
    const factor = addRatios(sums.get(key)?.factor ?? ZERO, term.factor);
    if (bits(factor.over) > BITS || bits(factor.under) > BITS) throw new TooLarge();
    if (factor.over === 0n) sums.delete(key);
    else sums.set(key, { factor, powers: term.powers });
  }
  if (sums.size > TERMS) throw new TooLarge();
  return sums;
}

/** Multiplies two terms: exponents add up, and whole powers of a number become part of the factor. */
function multiplyTerms(a: Term, b: Term): Term {
  let factor = timesRatios(a.factor, b.factor);
  const powers = new Map(a.powers);
  for (const [name, exponent] of b.powers) {
    const sum = addRatios(powers.get(name) ?? ZERO, exponent);
    const number = /^-?[0-9]+$/.test(name) ? BigInt(name) : null;
    const whole = number === null ? 0n : floor(sum);
    if (number !== null && whole !== 0n) factor = timesRatios(factor, powerOf(number, whole));
    const left = addRatios(sum, { over: -whole, under: 1n });
    if (equalRatios(left, ZERO)) powers.delete(name);
    else powers.set(name, left);
  }
  return { factor, powers };
}

/** Raises a number to a whole power. @throws TooLarge. */
export function powerOf(base: bigint, exponent: bigint): Ratio {
  const size = exponent < 0n ? -exponent : exponent;
  if (size * BigInt(bits(base)) > BITS) throw new TooLarge();
  const power = base ** size;
  const found = exponent < 0n ? ratio(1n, power) : ratio(power);
  if (found === null) throw new TooLarge(); // 0 to a negative power
  return found;
}

function floor({ over, under }: Ratio): bigint {
  return over >= 0n ? over / under : -((-over + under - 1n) / under);
}

function bits(value: bigint): number {
  return value.toString(16).length * 4;
}
