import { describe, expect, test } from '@jest/globals';
import { bestChild, bestPositions, type TieBreak, uctScore } from './best-child.ts';

const parent = { stepId: 'p', visits: 6, valueSum: 3 };
const node = (visits: number, valueSum: number, terminal = false) => ({ visits, valueSum, terminal });
const choose = (children: ReturnType<typeof node>[], tieBreak: TieBreak, simulation = 0) =>
  bestChild(parent, children, { exploration: 0.25, tieBreak, simulation });

describe('bestChild', () => {
  test('an unvisited child precedes every score, and a terminal one is never chosen', () => {
    expect(choose([node(1, 1), node(0, 0), node(0, 0, true)], { kind: 'first' })).toBe(1);
    expect(choose([node(5, 5, true), node(1, 0)], { kind: 'first' })).toBe(1);
    expect(choose([node(5, 5, true)], { kind: 'first' })).toBeNull();
  });

  test('scores that differ in the last bit tie in sound mode, but not as published', () => {
    const bit = node(2, 1 + 2 ** -52);
    expect(bestPositions(6, [node(2, 1), bit], 0.25, 1e-12)).toEqual([0, 1]);
    expect(bestPositions(6, [node(2, 1), bit], 0.25, 0)).toEqual([1]);
    expect(choose([node(2, 1), bit], { kind: 'first' })).toBe(0);
  });

  test('a seeded tie is drawn from seed, simulation and node, and reaches every child', () => {
    const tied = [node(0, 0), node(0, 0), node(0, 0)];
    const drawn = Array.from({ length: 60 }, (_, simulation) => choose(tied, { kind: 'seeded', seed: 1 }, simulation));
    expect(Array.from({ length: 60 }, (_, simulation) => choose(tied, { kind: 'seeded', seed: 1 }, simulation))).toEqual(drawn);
    expect(new Set(drawn)).toEqual(new Set([0, 1, 2]));
  });

  test('a draw receives the pool and the position of the walk, and a position outside the pool is refused', () => {
    const seen: unknown[] = [];
    const draw = (tie: unknown) => seen.push(tie);
    expect(choose([node(1, 1, true), node(1, 1), node(1, 1)], { kind: 'drawn', draw }, 7)).toBe(2);
    expect(seen).toEqual([{ simulation: 7, parentStepId: 'p', pool: [1, 2] }]);
    expect(() => choose([node(0, 0)], { kind: 'drawn', draw: () => 1 })).toThrow(RangeError);
  });
});

test('a root, which has no parent, is scored by its mean value alone', () => {
  expect(uctScore({ visits: 4, valueSum: 3 }, null)).toBe(0.75);
});
