import { describe, expect, test } from '@jest/globals';
import { type RewardedStep, tokenRewards } from './estimator-batch.ts';
import type { RewardPart } from './step-row.ts';
import type { ProcessRewardSettings } from './training-settings.ts';

const part = (component: string, value: number, of: RewardPart['of'] = 'step'): RewardPart => ({
  component,
  value,
  of,
  weight: component === 'tool' ? 2 : 1,
});

/** A rollout of two steps, the second of which ends it; a call is paid 0.1 and 0.3, by a weight of 2. */
const ROWS: readonly RewardedStep[] = [
  { groupId: 't', rolloutId: 'a', reward: 0.2, parts: [part('tool', 0.1)] },
  { groupId: 't', rolloutId: 'a', reward: 1.6, parts: [part('tool', 0.3), part('environment', 1)] },
  { groupId: 't', rolloutId: 'b', reward: 0.5, parts: [part('environment', 0.5), part('tool', 0, 'rollout')] },
];
const process: ProcessRewardSettings = {
  components: ['tool'],
  placement: 'last-token',
  closing: '</tool_call>',
  normalisation: 'none',
};
const plain = (rows: readonly ArrayLike<number>[]) => rows.map((row) => Array.from(row, (value) => Number(value.toFixed(9))));

describe('the token rewards of a batch', () => {
  test('every reward is on the last token of its step where no process rewards are declared', () => {
    expect(plain(tokenRewards(ROWS, [3, 2, 1], undefined))).toEqual([[0, 0, 0.2], [0, 1.6], [0.5]]);
  });

  test('process rewards are placed where calls end, and on the last token of a step without a call', () => {
    const placed = tokenRewards(ROWS, [3, 2, 1], { ...process, placement: 'call-end' }, [[1], [], []]);
    expect(plain(placed)).toEqual([[0, 0.2, 0], [0, 1.6], [0.5]]);
  });

  test('a batch divides process rewards by the largest sum over a whole trajectory, and leaves outcomes as they are', () => {
    const scaled = tokenRewards(ROWS, [3, 2, 1], { ...process, normalisation: 'batch' });
    const divisor = 0.2 + 0.6 + 1e-6;
    expect(plain(scaled)).toEqual(plain([[0, 0, 0.2 / divisor], [0, 1 + 0.6 / divisor], [0.5]]));
  });
});
