import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { BOOTSTRAP_DEFAULTS, bootstrapInterval, type Cell, cellsOf, crossedInterval, pairedCells } from './bootstrap-interval.ts';

const bootstrap = { ...BOOTSTRAP_DEFAULTS, seed: 1 };
const cell = (task: string, seed: number, value: number): Cell => ({ task, seed, value });
const grid = (tasks: number, seeds: number, value: (task: number, seed: number) => number) =>
  Array.from({ length: tasks * seeds }, (_, i) =>
    cell(`t${i % tasks}`, Math.floor(i / tasks), value(i % tasks, Math.floor(i / tasks))),
  );

describe('the interval over tasks and repetitions', () => {
  test('nothing measured has no interval, and equal values have one of no width', () => {
    expect(crossedInterval([], bootstrap)).toBeNull();
    expect(
      crossedInterval(
        grid(5, 3, () => 0.5),
        bootstrap,
      ),
    ).toEqual({ mean: 0.5, interval: { low: 0.5, high: 0.5 } });
  });

  test('the interval of one repetition is about the bootstrap over tasks', () => {
    const cells = grid(40, 1, (task) => task % 2);
    const crossed = crossedInterval(cells, bootstrap);
    const over = bootstrapInterval(
      cells.map(({ value }) => [value]),
      bootstrap,
    );
    expect(crossed?.mean).toBe(0.5);
    expect(crossed?.interval.low).toBeCloseTo(over.low, 1);
    expect(crossed?.interval.high).toBeCloseTo(over.high, 1);
  });

  test('repetitions that differ widen it, though every task says the same within one', () => {
    const width = (cells: readonly Cell[]) => {
      const { interval } = crossedInterval(cells, bootstrap) ?? { interval: { low: 0, high: 0 } };
      return interval.high - interval.low;
    };
    expect(width(grid(10, 4, (_, seed) => seed % 2))).toBeGreaterThan(0.5);
    expect(width(grid(10, 4, () => 1))).toBe(0);
  });

  test('the same cells give the same bits in any order', () => {
    const cells = fc.array(
      fc.record({ task: fc.constantFrom('a', 'b', 'c'), seed: fc.nat(2), value: fc.double({ min: 0, max: 1, noNaN: true }) }),
      { minLength: 1, maxLength: 9 },
    );
    const few = { ...bootstrap, resamples: 50 };
    fc.assert(
      fc.property(cells, (given) => {
        expect(crossedInterval(cellsOf([...given].reverse()), few)).toEqual(crossedInterval(cellsOf(given), few));
      }),
      { numRuns: 50 },
    );
  });
});

test('episodes of one task in one repetition count as their mean', () => {
  expect(cellsOf([cell('a', 1, 1), cell('a', 1, 0), cell('a', 2, 1)])).toEqual([cell('a', 1, 0.5), cell('a', 2, 1)]);
});

test('pairs are of one task and one seed, and what only one side has is left out', () => {
  const from = [cell('a', 1, 0.25), cell('a', 2, 1), cell('b', 1, 0)];
  const to = [cell('a', 1, 1), cell('b', 2, 1), cell('a', 2, 0.5)];
  expect(pairedCells(from, to)).toEqual([cell('a', 1, 0.75), cell('a', 2, -0.5)]);
});
