import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { somePolicyInput } from '../training-testing.ts';
import { maskedMean, maskedSum, maskedVariance, maskedWhiten, measure, standardise, sumOf } from './masked.ts';

describe('compensated sums', () => {
  test('a compensated sum keeps what plain addition loses', () => {
    expect(sumOf([1, 1e100, 1, -1e100])).toBe(2);
    expect(sumOf(Array.from({ length: 10 }, () => 0.1))).toBe(1);
    expect(sumOf([])).toBe(0);
  });

  test('sums of infinities and NaN equal those of plain addition', () => {
    expect(sumOf([1, Number.POSITIVE_INFINITY, 1])).toBe(Number.POSITIVE_INFINITY);
    expect(sumOf([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])).toBeNaN();
    expect(sumOf([1, Number.NaN])).toBeNaN();
  });
});

describe('masked statistics', () => {
  test('whitened trained tokens have mean 0 and variance 1', () => {
    fc.assert(
      fc.property(somePolicyInput, ({ masks, advantages }) => {
        fc.pre(
          maskedSum(
            masks.map((mask) => Float64Array.from(mask)),
            masks,
          ) > 1,
        );
        fc.pre(maskedVariance(advantages, masks) > 1e-2);
        const white = maskedWhiten(advantages, masks);
        expect(maskedMean(white, masks)).toBeCloseTo(0, 6);
        expect(maskedVariance(white, masks)).toBeCloseTo(1, 4);
        const kept = maskedWhiten(advantages, masks, 'kept');
        expect(maskedMean(kept, masks)).toBeCloseTo(maskedMean(advantages, masks), 6);
      }),
    );
  });

  test('a row without trained tokens has mean 0, and its variance is an error', () => {
    const [rows, masks] = [[Float64Array.of(5, 6)], [Uint8Array.of(0, 0)]];
    expect(maskedMean(rows, masks)).toBe(0);
    expect(() => maskedVariance(rows, masks)).toThrow('mask sum is zero');
  });

  test('a column shorter than its mask is an error, not a zero', () => {
    expect(() => maskedSum([Float64Array.of(1)], [Uint8Array.of(1, 1)])).toThrow(RangeError);
    expect(() => maskedSum([], [Uint8Array.of(1)])).toThrow(RangeError);
  });
});

test('equal values have exactly their mean and no deviation', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 2, max: 9 }), (value, n) => {
      expect(measure(Array.from({ length: n }, () => value))).toEqual({ mean: value, deviation: 0 });
    }),
  );
});

test('one step cannot be standardised', () => {
  expect(() => standardise([1])).toThrow('step whitening needs 2 or more');
});
