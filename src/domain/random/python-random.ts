/**
 * The draws of CPython's `random.Random` that the published programs make. Names follow Python's, so that the two can be read
 * side by side.
 */
interface PythonRandom {
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

const N = 624;
const M = 397;

/**
 * Makes the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) as CPython seeds it: `init_by_array` over the 32-bit words
 * of the absolute value of the seed, the least significant first. The function draws 32-bit words. @throws RangeError when the
 * seed is no integer.
 */
function createMersenneTwister(seed: number | bigint): () => number {
  const state = initByArray(wordsOf(BigInt(seed)));
  let index = N;
  return () => {
    if (index === N) {
      twist(state);
      index = 0;
    }
    return temper(at(state, index++));
  };
}

function wordsOf(seed: bigint): readonly number[] {
  const words: number[] = [];
  for (let rest = seed < 0n ? -seed : seed; rest > 0n; rest >>= 32n) words.push(Number(rest & 0xffffffffn));
  return words.length > 0 ? words : [0];
}

function initByArray(key: readonly number[]): Uint32Array {
  const state = new Uint32Array(N);
  state[0] = 19650218;
  for (let i = 1; i < N; i++) state[i] = Math.imul(1812433253, scrambled(state, i - 1)) + i;
  let i = 1;
  const advance = (): void => {
    if (++i < N) return;
    state[0] = at(state, N - 1);
    i = 1;
  };
  for (let k = 0; k < Math.max(N, key.length); k++) {
    const j = k % key.length;
    state[i] = (at(state, i) ^ Math.imul(scrambled(state, i - 1), 1664525)) + (key[j] ?? 0) + j;
    advance();
  }
  for (let k = 1; k < N; k++) {
    state[i] = (at(state, i) ^ Math.imul(scrambled(state, i - 1), 1566083941)) - i;
    advance();
  }
  state[0] = 0x80000000;
  return state;
}

function scrambled(state: Uint32Array, i: number): number {
  return at(state, i) ^ (at(state, i) >>> 30);
}

function twist(state: Uint32Array): void {
  for (let i = 0; i < N; i++) {
    const joined = (at(state, i) & 0x80000000) | (at(state, (i + 1) % N) & 0x7fffffff);
    state[i] = at(state, (i + M) % N) ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
  }
}

function temper(word: number): number {
  let y = word;
  y ^= y >>> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return (y ^ (y >>> 18)) >>> 0;
}

/** Every index that is asked for lies within the 624 words. */
function at(state: Uint32Array, i: number): number {
  return state[i] as number;
}
