import { describe, expect, test } from '@jest/globals';
import { COMPRESSION_PRESETS, isRewarded } from './factor-reward.ts';

const rewarded = (every: number, iterations: number): number[] =>
  Array.from({ length: iterations }, (_, i) => i + 1).filter((iteration) => isRewarded(every, iteration));

describe('the reward schedule', () => {
  // specification of AgentOCR, V8
  test('the schedule rewards compression in 18 of 150 iterations as scripted and in 30 as in the paper', () => {
    expect(rewarded(COMPRESSION_PRESETS['published-script'].every, 150)).toHaveLength(18);
    expect(rewarded(COMPRESSION_PRESETS.paper.every, 150)).toHaveLength(30);
    expect(rewarded(8, 24)).toEqual([8, 16, 24]);
  });

  test.each([0, -1, 1.5, Number.NaN])('a period of %d is refused', (every) => {
    expect(() => isRewarded(every, 1)).toThrow(RangeError);
  });
});
