import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { COMPRESSION_PRESETS } from './reward-presets.ts';
import { isRewarded, nextIteration, type RewardSchedule, startSchedule } from './reward-schedule.ts';

const activeIterations = (schedule: RewardSchedule, iterations: number): number[] => {
  const active: number[] = [];
  let current = schedule;
  for (let i = 0; i < iterations; i++) {
    const next = nextIteration(current);
    if (next.active) active.push(next.schedule.n);
    current = next.schedule;
  }
  return active;
};

describe('the reward schedule', () => {
  // specification of AgentOCR, V8
  test('the schedule rewards compression in 18 of 150 iterations as scripted and in 30 as in the paper', () => {
    expect(activeIterations(startSchedule(COMPRESSION_PRESETS['published-script'].every), 150)).toHaveLength(18);
    expect(activeIterations(startSchedule(COMPRESSION_PRESETS.paper.every), 150)).toHaveLength(30);
    expect(activeIterations(startSchedule(8), 24)).toEqual([8, 16, 24]);
  });

  test('a resumed schedule continues where it was recorded', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.nat(60), fc.nat(60), (every, before, after) => {
        let schedule = startSchedule(every);
        for (let i = 0; i < before; i++) schedule = nextIteration(schedule).schedule;
        const recorded: RewardSchedule = JSON.parse(JSON.stringify(schedule));
        const resumed = [...activeIterations(startSchedule(every), before), ...activeIterations(recorded, after)];
        expect(resumed).toEqual(activeIterations(startSchedule(every), before + after));
      }),
    );
  });

  test('an iteration is rewarded by its number as the schedule that counted up to it says', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 60 }), (every, iterations) => {
        const numbers = Array.from({ length: iterations }, (_, i) => i + 1);
        expect(numbers.filter((n) => isRewarded(every, n))).toEqual(activeIterations(startSchedule(every), iterations));
      }),
    );
  });

  test('the schedule does not move when an iteration is repeated', () => {
    const schedule = { every: 8, n: 7 };
    expect(nextIteration(schedule)).toEqual(nextIteration(schedule));
    expect(nextIteration(schedule)).toEqual({ schedule: { every: 8, n: 8 }, active: true });
  });

  test.each([0, -1, 1.5, Number.NaN])('a period of %d is refused', (every) => {
    expect(() => startSchedule(every)).toThrow(RangeError);
  });
});
