import { seedFrom } from './seed-from.ts';

/** A stream of draws that depends on nothing but its seed. */
export interface Random {
  /** Draws a number in [0, 1) with 53 random bits. */
  next(): number;
  /** Draws an integer in 0..n-1, every one equally likely. @throws RangeError unless 1 <= n <= 2^32. */
  int(n: number): number;
  /** Draws one item. @throws RangeError when there is none. */
  choice<T>(items: readonly T[]): T;
  /** Returns the items in a random order; the argument stays as it is. */
  shuffle<T>(items: readonly T[]): T[];
  /** Makes an independent stream, fixed by the seed and the label alone: how much was drawn before does not matter. */
  fork(label: string | number): Random;
}

/**
 * Opens a seeded stream of draws: xoshiro128** (Blackman and Vigna, 2018), its 128 bits filled from the seed by splitmix32.
 * It uses 32-bit integer arithmetic only, so every machine draws the same.
 */
export function createRandom(seed: number | string): Random {
  let [a, b, c, d] = fillState(seedFrom(seed));

  const bits = (): number => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11);
    return result;
  };

  const next = (): number => (bits() * 0x200000 + (bits() >>> 11)) / 2 ** 53;

  // Quotients of integers below 2^32 round down exactly; the `%` of numbers above 2^31 takes three times as long.
  const remainder = (of: number, n: number): number => of - Math.floor(of / n) * n;

  let [known, limit] = [1, 2 ** 32];
  const int = (n: number): number => {
    if (n !== known) {
      if (!Number.isInteger(n) || n < 1 || n > 2 ** 32) throw new RangeError(`expected an integer from 1 to 2^32, not ${n}`);
      // Draws past the last whole multiple of n are thrown away: keeping them would favour the small numbers.
      limit = 2 ** 32 - remainder(2 ** 32, n);
      known = n;
    }
    for (;;) {
      const drawn = bits();
      if (drawn < limit) return remainder(drawn, n);
    }
  };

  const choice = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('no item to choose from');
    return items[int(items.length)] as T; // int() stays below the length
  };

  const shuffle = <T>(items: readonly T[]): T[] => {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i--) {
      const j = int(i + 1);
      [order[i], order[j]] = [order[j] as T, order[i] as T]; // 0 <= j <= i < length
    }
    return order;
  };

  return { next, int, choice, shuffle, fork: (label) => createRandom(seedFrom('fork', seed, label)) };
}

function fillState(seed: number): [number, number, number, number] {
  // Both halves of the seed enter, so seeds that differ only above bit 32 still open different streams.
  let low = seed >>> 0;
  const high = Math.floor(seed / 2 ** 32);
  const splitmix = (salt: number): number => {
    low = (low + 0x9e3779b9) | 0;
    let z = low ^ salt;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  const state: [number, number, number, number] = [splitmix(high), splitmix(0), splitmix(high), splitmix(0)];
  if (state.every((word) => word === 0)) state[0] = 1; // the one state xoshiro never leaves
  return state;
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
