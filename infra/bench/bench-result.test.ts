import { describe, expect, test } from '@jest/globals';
import { describeOutcome, type Figure, isMet, median, percentile, ratioOf } from './bench-result.ts';

const figure: Figure = {
  name: 'work',
  value: 800,
  unit: 'events/s',
  baseline: { name: 'simple', value: 1_000, unit: 'events/s' },
  floor: { kind: 'ratio-at-least', limit: 0.8 },
};

describe('the outcome of a bench', () => {
  test('a least ratio is met from its limit upwards, and never without a baseline', () => {
    expect(isMet(figure)).toBe(true);
    expect(isMet({ ...figure, value: 799 })).toBe(false);
    expect(isMet({ ...figure, baseline: null })).toBe(false);
    expect(ratioOf(figure)).toBe(0.8);
  });

  test('a largest ratio is met up to its limit, and never without a baseline', () => {
    const added: Figure = { ...figure, unit: 'ms', value: 100, floor: { kind: 'ratio-at-most', limit: 0.1 } };
    expect([isMet(added), isMet({ ...added, value: 101 }), isMet({ ...added, baseline: null })]).toEqual([true, false, false]);
    expect(describeOutcome({ bench: 'b', figures: [added], conditions: {} })).toContain('ratio 0.10 | floor ratio <= 0.1: met');
  });

  test('a limit is met only below it, and a figure without a floor is not judged', () => {
    const late: Figure = { ...figure, unit: 'ms', value: 250, floor: { kind: 'below', limit: 250 } };
    expect(isMet(late)).toBe(false);
    expect(isMet({ ...late, value: 249.9 })).toBe(true);
    expect(isMet({ ...late, floor: null })).toBeUndefined();
  });

  test('a line shows figure, baseline, ratio, floor and whether it is met, and the last line shows the conditions', () => {
    expect(
      describeOutcome({ bench: 'b', figures: [figure, { ...figure, value: 1 }], conditions: { cores: 2, batch: 500 } }),
    ).toBe(
      [
        'b        work: 800 events/s | simple: 1,000 events/s | ratio 0.80 | floor ratio >= 0.8: met',
        'b        work: 1 events/s | simple: 1,000 events/s | ratio 0.00 | floor ratio >= 0.8: NOT MET',
        '         (cores 2; batch 500)',
      ].join('\n'),
    );
  });
});

test('percentiles are observed samples (nearest rank), whatever the order of the samples', () => {
  const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect(percentile(samples, 0.5)).toBe(50);
  expect(percentile(samples, 0.99)).toBe(99);
  expect(percentile(samples, 1)).toBe(100);
  expect(median([3, 1, 2])).toBe(2);
  expect(() => percentile([], 0.5)).toThrow(RangeError);
});
