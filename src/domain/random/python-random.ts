import { createMersenneTwister } from './python-random-twister.ts';

/**
 * The draws of CPython's `random.Random` that the published programs make. Names follow Python's, so that the two can be read
 * side by side.
 */
export interface PythonRandom {
  /** Draws a number in [0, 1) with 53 random bits. */
  random(): number;
  /** Draws an integer of `k` bits. @throws RangeError unless 0 <= k <= 53 (beyond that a number is not exact). */
  getrandbits(k: number): number;
  /** Draws an integer in 0..n-1 (`_randbelow_with_getrandbits`). @throws RangeError unless n is an integer from 1 to 2^53 - 1. */
  randbelow(n: number): number;
  /** Draws an integer in low..high, both included. */
  randint(low: number, high: number): number;
  /** Draws one item. @throws RangeError when there is none. */
  choice<T>(items: readonly T[]): T;
  /** Returns the items as `random.shuffle` would leave them; the argument stays as it is. */
  shuffle<T>(items: readonly T[]): T[];
}

/**
 * Opens the stream that `random.seed(seed)` opens in CPython 3.2 and later: the Mersenne Twister seeded by an integer. Faithful
 * mode needs it, since Agent-R shuffles the pairs of every tree after `random.seed(123)` and draws its reflections from the same
 * stream (specification of Agent-R, §2.2 and §2.6). Everything of our own draws from `createRandom`.
 * @param seed an integer; as in Python its sign does not matter.
 */
export function createPythonRandom(seed: number | bigint): PythonRandom {
  const word = createMersenneTwister(seed);

  const random = (): number => {
    const high = word() >>> 5;
    const low = word() >>> 6;
    return (high * 0x4000000 + low) / 2 ** 53;
  };

  const getrandbits = (k: number): number => {
    if (!Number.isInteger(k) || k < 0 || k > 53) throw new RangeError(`expected 0 to 53 bits, not ${k}`);
    if (k === 0) return 0;
    if (k <= 32) return word() >>> (32 - k);
    // CPython fills the words from the least significant one; the last keeps its high bits.
    const low = word();
    return (word() >>> (64 - k)) * 2 ** 32 + low;
  };

  const randbelow = (n: number): number => {
    if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`expected an integer from 1 to 2^53 - 1, not ${n}`);
    const k = bitLength(n);
    let drawn = getrandbits(k);
    while (drawn >= n) drawn = getrandbits(k);
    return drawn;
  };

  const choice = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('no item to choose from');
    return items[randbelow(items.length)] as T; // randbelow stays below the length
  };

  const shuffle = <T>(items: readonly T[]): T[] => {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i--) {
      const j = randbelow(i + 1);
      [order[i], order[j]] = [order[j] as T, order[i] as T]; // 0 <= j <= i < length
    }
    return order;
  };

  return { random, getrandbits, randbelow, randint: (low, high) => low + randbelow(high - low + 1), choice, shuffle };
}

function bitLength(n: number): number {
  const high = Math.floor(n / 2 ** 32);
  return high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(n);
}
