import {
  addPolynomials,
  constant,
  constantOf,
  generator,
  multiplyPolynomials,
  nameOf,
  negate,
  type Polynomial,
  powerOf,
  TooLarge,
} from './polynomial.ts';
import { addRatios, gcd, ONE, type Ratio, ratio, timesRatios } from './ratio.ts';

/** One polynomial over another, which is not 0: what any expression of an answer comes to, exactly. */
export interface RationalFunction {
  readonly above: Polynomial;
  readonly below: Polynomial;
}

export const whole = (value: Ratio): RationalFunction => ({ above: constant(value), below: constant(ONE) });
export const named = (name: string, exponent: Ratio = ONE): RationalFunction => ({
  above: generator(name, exponent),
  below: constant(ONE),
});

export function add(a: RationalFunction, b: RationalFunction): RationalFunction {
  return {
    above: addPolynomials(multiplyPolynomials(a.above, b.below), multiplyPolynomials(b.above, a.below)),
    below: multiplyPolynomials(a.below, b.below),
  };
}

export const minus = ({ above, below }: RationalFunction): RationalFunction => ({ above: negate(above), below });

export function multiply(a: RationalFunction, b: RationalFunction): RationalFunction {
  return { above: multiplyPolynomials(a.above, b.above), below: multiplyPolynomials(a.below, b.below) };
}

/** @throws TooLarge for a division by 0. */
export function divide(a: RationalFunction, b: RationalFunction): RationalFunction {
  if (b.above.size === 0) throw new TooLarge();
  return multiply(a, { above: b.below, below: b.above });
}

/** Returns whether an expression is 0 whatever its variables are. */
export const isZero = ({ above }: RationalFunction): boolean => above.size === 0;

/** Returns the number that an expression is; null where it has variables or roots. */
export function numberOf({ above, below }: RationalFunction): Ratio | null {
  const [over, under] = [constantOf(above), constantOf(below)];
  return over && under ? ratio(over.over * under.under, over.under * under.over) : null;
}

/**
 * Raises to a power. A fraction as the exponent takes roots: of numbers exactly, of anything else as a name for itself. @throws
 * TooLarge.
 */
export function raise(base: RationalFunction, exponent: RationalFunction): RationalFunction {
  const power = numberOf(exponent);
  if (power === null) return named(`(${nameFunction(base)})^(${nameFunction(exponent)})`);
  if (power.under === 1n) return raiseWhole(base, power.over);
  const number = numberOf(base);
  if (number) return number.over === 0n && power.over > 0n ? base : root(number, power);
  const nested = power.over === 1n && power.under === 2n ? denest(base) : null;
  if (nested) return nested;
  // What is positive may leave the root; the sign of the rest is not known.
  const factor = content(base);
  const rest = multiply(base, whole(ratio(factor.under, factor.over) ?? ONE)); // a content is not 0
  const only = rest.above.size === 1 ? [...rest.above.values()][0] : undefined;
  if (only && equalsOne(only.factor) && isOne(rest.below) && [...only.powers.keys()].every(isPositive))
    return [...only.powers].reduce(
      (made, [name, own]) => multiply(made, named(name, timesRatios(own, power))),
      root(factor, power),
    );
  return multiply(root(factor, power), named(`(${nameFunction(rest)})`, power));
}

function raiseWhole(base: RationalFunction, exponent: bigint): RationalFunction {
  const times = exponent < 0n ? -exponent : exponent;
  const number = numberOf(base);
  if (number && number.under === 1n) return whole(powerOf(number.over, exponent));
  if (times > 100n) throw new TooLarge();
  let made = whole(ONE);
  for (let i = 0n; i < times; i++) made = multiply(made, base);
  return exponent < 0n ? divide(whole(ONE), made) : made;
}

/** Writes √(a + t), t² a number, as a sum of two roots where a² − t² is a square: √(3 + 2√2) = 1 + √2. Null for anything else. */
function denest({ above, below }: RationalFunction): RationalFunction | null {
  const under = constantOf(below);
  const a = above.get('')?.factor;
  const other = [...above].find(([key]) => key !== '');
  if (above.size !== 2 || !a || !other || !under) return null;
  const t = { above: new Map([other]), below };
  const first = ratio(a.over * under.under, a.under * under.over);
  const square = numberOf(multiply(t, t));
  if (!first || !square || first.over <= 0n || square.over <= 0n) return null;
  const difference = rootOfSquare(addRatios(timesRatios(first, first), { over: -square.over, under: square.under }));
  if (!difference) return null;
  const half = { over: 1n, under: 2n };
  const [large, small] = [difference, { over: -difference.over, under: difference.under }].map((each) =>
    root(timesRatios(addRatios(first, each), half), half),
  ) as [RationalFunction, RationalFunction]; // two go in
  return add(large, other[1].factor.over < 0n === under.over < 0n ? small : minus(small));
}

/** Returns the root of a number that is the square of one; null for others. */
function rootOfSquare({ over, under }: Ratio): Ratio | null {
  const roots = [over, under].map((value) => (value < 0n ? -1n : wholeRoot(value)));
  const [a, b] = roots as [bigint, bigint]; // two go in
  return a >= 0n && a * a === over && b * b === under ? { over: a, under: b } : null;
}

/** The largest whole number whose square is not above a value (Newton). */
function wholeRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (let next = (guess + value / guess) >> 1n; next < guess; next = (guess + value / guess) >> 1n) guess = next;
  return guess;
}

/** Takes the root of a number: each of its primes by itself, and -1 as one of them. */
function root({ over, under }: Ratio, power: Ratio): RationalFunction {
  const above = rootOf(over < 0n ? -over : over, power);
  const signed = over < 0n ? multiply(above, fold('-1', power)) : above;
  return divide(signed, rootOf(under, power));
}

function rootOf(number: bigint, power: Ratio): RationalFunction {
  return primesOf(number).reduce(
    (made, [prime, times]) => multiply(made, fold(String(prime), timesRatios({ over: BigInt(times), under: 1n }, power))),
    whole(ONE),
  );
}

/** A product with 1 folds whole powers of a number into the factor. */
const fold = (name: string, power: Ratio): RationalFunction => multiply(whole(ONE), named(name, power));

const TRIED = 10_000n; // what has no smaller prime factor is taken for a prime: roots of it are equal only to themselves

/** Returns the prime factors of a number with how often each divides it. */
export function primesOf(number: bigint): readonly (readonly [bigint, number])[] {
  const found: (readonly [bigint, number])[] = [];
  let left = number;
  for (let prime = 2n; prime <= TRIED && prime * prime <= left; prime++) {
    let times = 0;
    for (; left % prime === 0n; left /= prime) times++;
    if (times > 0) found.push([prime, times]);
  }
  return left > 1n ? [...found, [left, 1]] : found;
}

/** The largest positive number that divides every term above, over the same below. */
function content({ above, below }: RationalFunction): Ratio {
  const of = (polynomial: Polynomial) => {
    const factors = [...polynomial.values()].map(({ factor }) => factor);
    const over = factors.reduce((divisor, factor) => gcd(divisor, factor.over), 0n);
    const under = factors.reduce((multiple, factor) => (multiple * factor.under) / gcd(multiple, factor.under), 1n);
    return { over: over === 0n ? 1n : over, under };
  };
  const [a, b] = [of(above), of(below)];
  return ratio(a.over * b.under, a.under * b.over) ?? ONE;
}

const isPositive = (name: string): boolean => name === 'pi' || /^[0-9]+$/.test(name);
const equalsOne = ({ over, under }: Ratio): boolean => over === 1n && under === 1n;
const isOne = (polynomial: Polynomial): boolean => {
  const value = constantOf(polynomial);
  return value !== null && equalsOne(value);
};

/** Names an expression for use as a generator. */
export function nameFunction({ above, below }: RationalFunction): string {
  return isOne(below) ? nameOf(above) : `${nameOf(above)}÷${nameOf(below)}`;
}
