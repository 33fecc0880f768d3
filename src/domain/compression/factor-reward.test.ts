import { expect, test } from '@jest/globals';
import { INVALID_PENALTY, scoreParts, totalScore } from '../training/advantages/step-parts-estimator.ts';
import { COMPRESSION_PRESETS, factorReward } from './factor-reward.ts';

const script = COMPRESSION_PRESETS['published-script'];
const step = { factor: 2, success: true, active: true, endsEpisode: false };

// specification of AgentOCR, V8: a successful ALFWorld episode is worth 10. Nine digits: the tenth of the row for 4.91 is that of
// a 32-bit factor.
test.each([
  [1.0, 10.0],
  [1.1, 10.0009531018],
  [1.2, 10.0018232156],
  [1.28, 10.0024686008],
  [2.0, 10.0069314718],
  [4.91, 10.0159127391],
  [5.0, 10.0160943791],
])('a success with factor %d scores %d', (factor, score) => {
  const parts = scoreParts({
    episodeReturn: 10,
    compression: factorReward({ ...step, factor }, script),
    valid: true,
    penalty: 0.1,
  });
  expect(totalScore(parts)).toBeCloseTo(score, 9);
});

test('an iteration outside the schedule, the last step and a failure under the published μ = 0 have no term', () => {
  expect(factorReward({ ...step, active: false }, script)).toBe(0);
  expect(factorReward({ ...step, endsEpisode: true }, script)).toBe(0);
  expect(factorReward({ ...step, success: false }, script)).toBe(0);
});

test('a failure pays μ·ln(cf) where μ is set', () => {
  expect(factorReward({ ...step, success: false }, { lambda: 0.01, mu: 0.5 })).toBeCloseTo(-0.5 * Math.log(2), 15);
  expect(factorReward({ ...step, success: false, factor: 1 }, { lambda: 0.01, mu: 0.5 })).toBe(0);
});

test.each([0, 0.99, 5.01, 1e9, Number.NaN, Number.POSITIVE_INFINITY, -1])('a factor of %d is refused', (factor) => {
  expect(() => factorReward({ ...step, factor }, script)).toThrow(RangeError);
});

test('an invalid action in a failed ALFWorld episode scores −0.1, and its components stay separate', () => {
  const parts = scoreParts({ episodeReturn: 0, compression: 0, valid: false, penalty: INVALID_PENALTY.alfworld });
  expect(parts).toEqual({ task: 0, compression: 0, invalid: -0.1 });
  expect(totalScore(parts)).toBe(-0.1);
  expect(scoreParts({ episodeReturn: 1, compression: 0.01, valid: true, penalty: INVALID_PENALTY.search })).toEqual({
    task: 1,
    compression: 0.01,
    invalid: 0,
  });
});
