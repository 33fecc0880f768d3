import { TooLarge } from './polynomial.ts';
import { ONE, type Ratio, readRatio } from './ratio.ts';
import {
  add,
  divide,
  minus,
  multiply,
  named,
  nameFunction,
  numberOf,
  primesOf,
  type RationalFunction,
  raise,
  whole,
} from './rational-function.ts';

const TOKEN = /\s*(?:((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?)|([\p{L}_][\p{L}\p{Nd}_]*)|(\*\*|[-+*/^()!]))/uy;

type Token = { readonly kind: 'number' | 'name' | 'sign'; readonly text: string };

/**
 * Reads an expression as sympy's parser with implicit multiplication does and computes it exactly: `2xy` is a product of three,
 * `1/2x` is x/2, `-x^2` is -(x²), `sqrt`, `ln` and `pi` are known, every other letter is a variable. Null for what it cannot
 * read, and for what has no value.
 */
export function readExpression(text: string): RationalFunction | null {
  if (text.length > 1_000) return null;
  const tokens = split(text);
  if (tokens === null) return null;
  const reader = new Reader(tokens);
  try {
    const value = reader.sum();
    return reader.done() ? value : null;
  } catch (error) {
    if (error instanceof Unreadable || error instanceof TooLarge) return null;
    throw error;
  }
}

class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const WHOLE_NAMES = new Set(['pi', 'mu', 'nu', 'xi', 'sqrt', 'ln']);

/** Splits a text into numbers, names and signs; a name that is no word of its own into its letters and numbers. */
function split(text: string): Token[] | null {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) return null;
    const [, number, name, sign] = found;
    if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign === '**' ? '^' : sign });
    else if (name !== undefined && (WHOLE_NAMES.has(name) || name.includes('_'))) tokens.push({ kind: 'name', text: name });
    else
      for (const [part] of (name ?? '').matchAll(/\p{Nd}+|\p{L}/gu))
        tokens.push({ kind: /^[0-9]/.test(part) ? 'number' : 'name', text: part });
  }
  return tokens;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  done(): boolean {
    return this.#at === this.#tokens.length;
  }

  sum(): RationalFunction {
    let value = this.product();
    for (;;) {
      if (this.take('+')) value = add(value, this.product());
      else if (this.take('-')) value = add(value, minus(this.product()));
      else return value;
    }
  }

  product(): RationalFunction {
    let value = this.signed();
    for (;;) {
      if (this.take('*')) value = multiply(value, this.signed());
      else if (this.take('/')) value = divide(value, this.signed());
      else if (this.beginsValue()) value = multiply(value, this.power());
      else return value;
    }
  }

  signed(): RationalFunction {
    if (this.take('-')) return minus(this.signed());
    return this.take('+') ? this.signed() : this.power();
  }

  power(): RationalFunction {
    let base = this.value();
    while (this.take('!')) base = whole(factorial(numberOf(base)));
    return this.take('^') ? raise(base, this.signed()) : base;
  }

  value(): RationalFunction {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Unreadable();
    if (token.kind === 'number') {
      const value = readRatio(token.text);
      if (value === null) throw new Unreadable();
      return whole(value);
    }
    if (token.kind === 'sign') return token.text === '(' ? this.closed() : fail();
    const calls = this.peek()?.text === '(';
    if (token.text === 'sqrt') return calls ? raise(this.argument(), whole({ over: 1n, under: 2n })) : fail();
    if (token.text === 'ln') return calls ? logarithm(this.argument()) : fail();
    return named(token.text);
  }

  /** Reads `(…)` behind a function's name. */
  argument(): RationalFunction {
    this.#at++;
    return this.closed();
  }

  closed(): RationalFunction {
    const value = this.sum();
    return this.take(')') ? value : fail();
  }

  take(sign: string): boolean {
    const token = this.peek();
    if (token?.kind !== 'sign' || token.text !== sign) return false;
    this.#at++;
    return true;
  }

  peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  beginsValue(): boolean {
    const token = this.peek();
    return token !== undefined && (token.kind !== 'sign' || token.text === '(');
  }
}

function fail(): never {
  throw new Unreadable();
}

function factorial(value: Ratio | null): Ratio {
  if (value === null || value.under !== 1n || value.over < 0n || value.over > 100n) throw new TooLarge();
  let product = 1n;
  for (let i = 2n; i <= value.over; i++) product *= i;
  return { over: product, under: 1n };
}

/** The logarithm of a positive number is a sum over its primes; of anything else it is a name for itself. */
function logarithm(argument: RationalFunction): RationalFunction {
  const number = numberOf(argument);
  if (number === null || number.over <= 0n) {
    if (number !== null) throw new TooLarge();
    return named(`ln(${nameFunction(argument)})`);
  }
  const sumOf = (value: bigint) =>
    primesOf(value).reduce(
      (sum, [prime, times]) => add(sum, multiply(whole({ over: BigInt(times), under: 1n }), named(`ln ${prime}`))),
      whole({ over: 0n, under: 1n }),
    );
  return multiply(whole(ONE), add(sumOf(number.over), minus(sumOf(number.under))));
}
