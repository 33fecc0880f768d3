import { expect } from '@jest/globals';

const SIZE = 25_000; // characters; work that grows with the square takes 64 times as long on eight times as many
const TIMES = 8;
const NOISE_MS = 500; // a busy machine; quadratic work on 200,000 characters takes seconds

/**
 * Expects that a function of texts takes time in proportion to their length, on runs of a piece with an end that no run has. The
 * ratio is generous.
 */
export function expectLinear(read: (text: string) => unknown, piece: string): void {
  const fastest = (characters: number): number => {
    const text = `${piece.repeat(Math.ceil(characters / piece.length))}\u0001`;
    const times = [1, 2, 3].map(() => {
      const from = performance.now();
      read(text);
      return performance.now() - from;
    });
    return Math.min(...times);
  };
  read(piece.repeat(10)); // compiles what is compiled at the first use
  const once = fastest(SIZE);
  expect(fastest(SIZE * TIMES)).toBeLessThan(once * TIMES * 3 + NOISE_MS);
}
