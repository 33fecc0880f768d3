const N = 624;
const M = 397;

/**
 * Makes the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) as CPython seeds it: `init_by_array` over the 32-bit words
 * of the absolute value of the seed, the least significant first. The function draws 32-bit words. @throws RangeError when the
 * seed is no integer.
 */
export function createMersenneTwister(seed: number | bigint): () => number {
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
