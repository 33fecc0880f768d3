import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { admissionBudget } from './admission-budget.ts';
import { balancePartition, planMicroBatches } from './micro-batches.ts';
import { planTrajectoryBatches } from './trajectory-batches.ts';

interface Partitions {
  readonly cases: readonly {
    readonly lengths: readonly number[];
    readonly k: number;
    readonly equal: boolean;
    readonly partitions: readonly (readonly number[])[];
  }[];
}
const published: Partitions = JSON.parse(readFileSync(new URL('../fixtures/balanced-partitions.json', import.meta.url), 'utf8'));
const someLengths = fc.array(fc.nat(500), { minLength: 1, maxLength: 40 });

describe('balanced partitions', () => {
  test('partitions equal those of verl, ties included', () => {
    for (const { lengths, k, equal, partitions } of published.cases) {
      expect(balancePartition(lengths, k, equal ? 'equal' : 'free')).toEqual(partitions);
    }
  });

  test('partitions contain every item once, and equal counts stay equal', () => {
    fc.assert(
      fc.property(someLengths, fc.integer({ min: 1, max: 6 }), (lengths, k) => {
        const even = lengths.slice(0, lengths.length - (lengths.length % k));
        fc.pre(even.length > 0);
        for (const [items, counts] of [
          [even, 'equal'],
          [even, 'free'],
        ] as const) {
          const parts = balancePartition(items, k, counts);
          expect(parts.flat().sort((a, b) => a - b)).toEqual(items.map((_, i) => i));
          if (counts === 'equal') expect(new Set(parts.map(({ length }) => length))).toEqual(new Set([items.length / k]));
        }
      }),
    );
  });

  test.each([
    [[1, 2], 3, 'free', /2 items cannot be divided into 3 parts/],
    [[1, 2], 0, 'free', /into 0 parts/],
    [[], 1, 'free', /0 items/],
    [[1, 2, 3], 2, 'equal', /3 items do not divide evenly into 2 parts/],
  ] as const)('partitioning %o into %i %s parts is refused', (weights, k, counts, reason) => {
    expect(() => balancePartition(weights, k, counts)).toThrow(reason);
  });
});

describe('micro-batches', () => {
  test('micro-batches contain every row once, and none is empty or over the budget', () => {
    fc.assert(
      fc.property(someLengths, fc.integer({ min: 500, max: 2_000 }), (lengths, budget) => {
        const plan = planMicroBatches(lengths, budget);
        if (plan.kind === 'refused') throw new Error(plan.reason);
        expect(plan.batches.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, i) => i));
        for (const rows of plan.batches) {
          expect(rows.length).toBeGreaterThan(0);
          expect(rows.reduce((sum, row) => sum + (lengths[row] ?? 0), 0)).toBeLessThanOrEqual(budget);
        }
      }),
    );
  });

  test('the number of micro-batches is the least that the tokens need, where they fit', () => {
    expect(planMicroBatches([5, 5, 5, 5], 10)).toEqual({
      kind: 'planned',
      batches: [
        [0, 3],
        [1, 2],
      ],
    });
    expect(planMicroBatches([], 10)).toEqual({ kind: 'planned', batches: [] });
  });

  test('a row longer than the budget is refused with its place', () => {
    expect(planMicroBatches([5, 11], 10)).toEqual({ kind: 'refused', reason: 'row 1 has 11 tokens, more than the budget of 10' });
  });
});

describe('mini-batches of trajectories', () => {
  const someTrajectories = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1, maxLength: 30 });

  test('mini-batches contain every real row once, keep trajectories whole, fill ranks evenly, and count no padding in totals', () => {
    fc.assert(
      fc.property(
        someTrajectories,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        (trajectories, miniBatchSize, ranks) => {
          const tokens = trajectories.map((_, row) => row + 1);
          const plan = planTrajectoryBatches(trajectories, tokens, { miniBatchSize, ranks });
          const all = plan.ranks.flat();
          const real = all.filter(({ sample }) => sample === 'real');
          expect(real.map(({ sourceRow }) => sourceRow).sort((a, b) => a - b)).toEqual(trajectories.map((_, row) => row));
          const homes = new Map<string, Set<string>>();
          for (const [rank, rows] of plan.ranks.entries()) {
            for (const { sourceRow, miniBatch, sample } of rows) {
              if (sample === 'padding') continue;
              const name = trajectories[sourceRow] ?? '';
              homes.set(name, (homes.get(name) ?? new Set()).add(`${miniBatch} on ${rank}`));
            }
          }
          expect([...homes.values()].every(({ size }) => size === 1)).toBe(true);
          for (const [miniBatch, totals] of plan.miniBatches.entries()) {
            const counts = plan.ranks.map((rows) => rows.filter((row) => row.miniBatch === miniBatch).length);
            expect(new Set(counts).size).toBe(1);
            const rows = real.filter((row) => row.miniBatch === miniBatch);
            expect(totals).toEqual({
              rows: rows.length,
              tokens: rows.reduce((sum, { sourceRow }) => sum + (tokens[sourceRow] ?? 0), 0),
            });
            expect(new Set(rows.map(({ sourceRow }) => trajectories[sourceRow])).size).toBeLessThanOrEqual(miniBatchSize);
          }
        },
      ),
    );
  });

  test('a plan of nothing is empty, and a size of 0 is refused', () => {
    expect(planTrajectoryBatches([], [], { miniBatchSize: 2, ranks: 2 })).toEqual({ ranks: [[], []], miniBatches: [] });
    expect(() => planTrajectoryBatches(['a'], [1], { miniBatchSize: 0, ranks: 1 })).toThrow('positive integers');
  });
});

test('admission never falls below zero: requests beyond the slots wait and are not dropped', () => {
  expect(admissionBudget({ miniBatchSize: 4, requireBatches: 1, trigger: 1, staleness: 0 }, 9)).toEqual({
    required: 4,
    most: 4,
    left: 0,
  });
});
