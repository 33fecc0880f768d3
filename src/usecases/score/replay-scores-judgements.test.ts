import { expect, test } from '@jest/globals';
import type { JudgedReward, Judgement } from '../../projections/rewards/read-judged.ts';
import { currentBefore } from './replay-scores-thresholds.ts';

const said = (offset: number, scorer: string, value: number): Judgement => ({
  eventId: `event ${offset}`,
  topic: 'trees',
  partition: 0,
  offset,
  value,
  scorer,
});
const reward = (stepId: string, component: string, ...judgements: Judgement[]): JudgedReward => ({
  rewardId: `${component} of ${stepId}`,
  stepId,
  rolloutId: null,
  component,
  judgements,
});
const before = (rewards: readonly JudgedReward[], component: string, judgement: Judgement) =>
  currentBefore({ rewards, finished: new Map() }, component, judgement).map(({ stepId, value }) => [stepId, value]);

test('a reward has its last value before the judgement, and a later reward is omitted', () => {
  const rewards = [
    reward('a', 'environment', said(1, 'world@1', 1), said(3, 'judge@1', 0.5), said(9, 'judge@2', 0)),
    reward('b', 'environment', said(7, 'world@1', 1)),
  ];
  expect(before(rewards, 'outcome', said(2, 'sum@1', 1))).toEqual([['a', 1]]);
  expect(before(rewards, 'outcome', said(5, 'sum@1', 0.5))).toEqual([['a', 0.5]]);
  expect(before(rewards, 'outcome', said(10, 'sum@1', 1))).toEqual([
    ['a', 0],
    ['b', 1],
  ]);
});

test('judgements of the same pass do not count, since all rewards are scored before any is recorded', () => {
  const rewards = [
    reward('a', 'environment', said(1, 'world@1', 1), said(4, 'sum@1', 3), said(6, 'other@1', 2), said(8, 'sum@1', 5)),
  ];
  expect(before(rewards, 'environment', said(9, 'sum@1', 2))).toEqual([['a', 2]]);
  expect(before(rewards, 'outcome', said(9, 'sum@1', 5))).toEqual([['a', 5]]);
});
