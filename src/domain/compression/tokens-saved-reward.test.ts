import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { factorReward, tokensSavedReward } from './factor-reward.ts';

const paid = { lambda: 0.01, mu: 0.1 };
const saved = (tokensWhole: number, tokens: number): number =>
  tokensSavedReward({ image: { tokensWhole, tokens }, success: true, active: true }, paid);

// specification of AgentOCR, V13: what a 392 × 360 image costs at each factor.
const STAIRCASE = [
  [1.0, 182],
  [1.05, 182],
  [1.1, 182],
  [1.15, 156],
  [1.2, 156],
  [1.28, 156],
  [1.4, 132],
  [1.6, 110],
  [1.8, 110],
  [2.0, 90],
  [3.0, 64],
  [5.0, 42],
] as const;

test('a factor that saves no token earns nothing, although its logarithm would', () => {
  for (const [factor, tokens] of STAIRCASE) {
    const published = factorReward({ factor, success: true, active: true, endsEpisode: false }, paid);
    if (tokens === 182) expect(saved(182, tokens)).toBe(0);
    else expect(saved(182, tokens)).toBeCloseTo(0.01 * Math.log(182 / tokens), 15);
    if (factor > 1) expect(published).toBeGreaterThan(0);
  }
});

test('two factors on the same level of the staircase earn the same', () => {
  const earned = STAIRCASE.map(([, tokens]) => saved(182, tokens));
  expect(new Set(earned).size).toBe(new Set(STAIRCASE.map(([, tokens]) => tokens)).size);
});

test('an image that grows when compressed neither earns nor pays', () => {
  expect(saved(14, 20)).toBe(0);
  expect(tokensSavedReward({ image: { tokensWhole: 14, tokens: 20 }, success: false, active: true }, paid)).toBe(0);
});

test('a failure pays for what its factor saves', () => {
  const reward = tokensSavedReward({ image: { tokensWhole: 182, tokens: 91 }, success: false, active: true }, paid);
  expect(reward).toBeCloseTo(-0.1 * Math.log(2), 15);
});

test('a step without a later image, or outside the schedule, has no term', () => {
  expect(tokensSavedReward({ image: null, success: true, active: true }, paid)).toBe(0);
  expect(tokensSavedReward({ image: { tokensWhole: 9, tokens: 4 }, success: true, active: false }, paid)).toBe(0);
});

test('a factor that saves more never earns less', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9_999 }),
      fc.integer({ min: 1, max: 9_999 }),
      fc.integer({ min: 1, max: 9_999 }),
      (w, a, b) => {
        expect(saved(w, Math.min(a, b))).toBeGreaterThanOrEqual(saved(w, Math.max(a, b)));
      },
    ),
  );
});

test.each([
  [0, 1],
  [1, 0],
  [1.5, 1],
  [Number.NaN, 1],
])('costs of %d and %d are refused', (whole, tokens) => {
  expect(() => saved(whole, tokens)).toThrow(RangeError);
});
