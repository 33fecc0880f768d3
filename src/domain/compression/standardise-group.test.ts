import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PUBLISHED_SCALING, type Scaling, standardiseGroup } from '../training/advantages/step-parts-estimator.ts';

const lnOf = (lambda: number): number[] => [1.1, 1.2, 1.3, 5.0].map((factor) => 10 + lambda * Math.log(factor));
const close = (actual: readonly number[], expected: readonly number[], digits = 7): void => {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((value, i) => {
    expect(actual[i]).toBeCloseTo(value, digits);
  });
};

describe('scaling as published', () => {
  // specification of AgentOCR, V9
  const mixed = [10.00182321556794, 10.006931471805599, 10, 0, -0.1];

  test('a mixed group is centred and divided by its deviation', () => {
    close(standardiseGroup(mixed, PUBLISHED_SCALING), [0.7300826, 0.7310103, 0.7297515, -1.0863418, -1.1045027]);
  });
  test('a group that is not divided is only centred', () => {
    close(standardiseGroup(mixed, { kind: 'none' }), [4.0200723, 4.0251805, 4.0182491, -5.9817509, -6.0817509]);
  });
  test('a group in which all succeed pushes with full strength towards the largest factor', () => {
    close(standardiseGroup(lnOf(0.01), PUBLISHED_SCALING), [-0.6156079, -0.4944336, -0.382964, 1.4930055]);
  });
  test('equal scores yield zeros, also with ε = 0', () => {
    expect(standardiseGroup([10.1, 10.1, 10.1], PUBLISHED_SCALING)).toEqual([0, 0, 0]);
    expect(standardiseGroup([0.1, 0.1, 0.1], { kind: 'deviation', epsilon: 0 })).toEqual([0, 0, 0]);
  });
  test('a score without siblings counts in full', () => {
    expect(standardiseGroup([3], PUBLISHED_SCALING)).toEqual([3 / (1 + 1e-6)]);
    expect(standardiseGroup([3], { kind: 'none' })).toEqual([3]);
  });
  test('no score yields no advantage', () => {
    expect(standardiseGroup([], PUBLISHED_SCALING)).toEqual([]);
  });
});

describe('λ in a group where all succeed (§2.4)', () => {
  test('the division by the deviation cancels λ', () => {
    const exact: Scaling = { kind: 'deviation', epsilon: 0 };
    for (const lambda of [0.001, 0.01, 1]) close(standardiseGroup(lnOf(lambda), exact), standardiseGroup(lnOf(100), exact), 6);
  });

  test('a floor under the deviation restores λ', () => {
    const floored: Scaling = { kind: 'floored-deviation', epsilon: 1e-6, floor: 1 };
    const [weak, strong] = [standardiseGroup(lnOf(0.001), floored), standardiseGroup(lnOf(0.01), floored)];
    weak.forEach((advantage, i) => {
      expect(advantage * 10).toBeCloseTo(strong[i] ?? Number.NaN, 7);
    });
    expect(Math.max(...strong.map(Math.abs))).toBeLessThan(0.012);
  });

  test('a floor below the deviation changes nothing', () => {
    const mixed = [10.01, 10, 0, 0];
    expect(standardiseGroup(mixed, { kind: 'floored-deviation', epsilon: 1e-6, floor: 1 })).toEqual(
      standardiseGroup(mixed, PUBLISHED_SCALING),
    );
  });
});

test('the advantages of a group sum to zero and keep the order of the scores', () => {
  const scaling = fc.constantFrom<Scaling>(
    PUBLISHED_SCALING,
    { kind: 'none' },
    { kind: 'floored-deviation', epsilon: 1e-6, floor: 0.5 },
  );
  const scores = fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 2, maxLength: 20 });
  fc.assert(
    fc.property(scores, scaling, (group, kind) => {
      const advantages = standardiseGroup(group, kind);
      expect(advantages.reduce((sum, a) => sum + a, 0)).toBeCloseTo(0, 8);
      group.forEach((score, i) => {
        group.forEach((other, j) => {
          if (score > other) expect(advantages[i]).toBeGreaterThan(advantages[j] ?? Number.NaN);
        });
      });
    }),
  );
});

test.each<Scaling>([
  { kind: 'deviation', epsilon: -1 },
  { kind: 'deviation', epsilon: Number.NaN },
  { kind: 'floored-deviation', epsilon: 0, floor: -1 },
])('%j is refused', (scaling) => {
  expect(() => standardiseGroup([1, 2], scaling)).toThrow(RangeError);
});
