import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decoupledAdvantages,
  PUBLISHED_SCALING,
  standardiseGroup,
  whitenBatch,
} from '../training/advantages/step-parts-estimator.ts';

const FACTORS = [1.1, 1.2, 1.3, 5.0].map(Math.log);
const group = (task: readonly number[], compression: readonly number[], weight: number): number[] =>
  decoupledAdvantages([
    { values: task, weight: 1, scaling: PUBLISHED_SCALING },
    { values: compression, weight, scaling: PUBLISHED_SCALING },
  ]);

test('in a group where all succeed, compression counts with its weight and no more', () => {
  const alone = standardiseGroup(FACTORS, PUBLISHED_SCALING);
  expect(group([10, 10, 10, 10], FACTORS, 0.05)).toEqual(alone.map((advantage) => 0.05 * advantage));
});

test('compression keeps its weight in a mixed group, where λ is not divided by the deviation of the task', () => {
  const [task, compression] = [
    [10, 10, 0, 0],
    [0, Math.log(5), 0, 0],
  ];
  const [low, high] = group(task ?? [], compression ?? [], 0.05);
  const summed = standardiseGroup([10, 10 + 0.01 * Math.log(5), 0, 0], PUBLISHED_SCALING);
  expect((high ?? 0) - (low ?? 0)).toBeCloseTo(0.05 * 2, 6); // one of four differs: (1 − 1/4 − (−1/4)) / (1/2)
  expect((summed[1] ?? 0) - (summed[0] ?? 0)).toBeLessThan(0.003);
});

test('the weight of a component matters, its unit does not', () => {
  fc.assert(
    fc.property(fc.constantFrom(0.5, 2, 1_024), (unit) => {
      const scaling = { kind: 'deviation', epsilon: 0 } as const;
      const inUnit = (by: number): number[] =>
        decoupledAdvantages([{ values: [1, 4, 5, 9].map((value) => value * by), weight: 0.3, scaling }]);
      expect(inUnit(unit)).toEqual(inUnit(1));
    }),
  );
});

test('components of different lengths are refused, and no component yields no advantage', () => {
  expect(() => group([1, 2], [1], 1)).toThrow(RangeError);
  expect(decoupledAdvantages([])).toEqual([]);
});

test('a whitened batch has mean 0 and deviation 1 over all groups, and each group keeps its shape', () => {
  const whitened = whitenBatch([[1, 2, 3], [], [10, -4]], 0);
  expect(whitened.map((part) => part.length)).toEqual([3, 0, 2]);
  const flat = whitened.flat();
  expect(flat.reduce((sum, a) => sum + a, 0)).toBeCloseTo(0, 12);
  expect(Math.sqrt(flat.reduce((sum, a) => sum + a * a, 0) / 4)).toBeCloseTo(1, 12);
  const [first, second, third] = whitened[0] ?? [];
  expect((third ?? 0) - (second ?? 0)).toBeCloseTo((second ?? 0) - (first ?? 0), 12);
});
