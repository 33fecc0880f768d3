import { describe, expect, test } from '@jest/globals';
import { keyInTree } from '../../projections/of-tree.ts';
import { changesOf, chooseEstimator, describeChange, estimateAdvantages, type ScoredGroup } from './replay-scores-advantages.ts';

const group = (treeId: string, pairs: readonly (readonly [before: number | null, after: number | null])[]): ScoredGroup => ({
  treeId,
  alias: `task ${treeId}`,
  members: pairs.map(([before, after], i) => ({
    rolloutId: `${treeId}${i}`,
    leafStepId: 'leaf',
    before,
    after,
    // Two steps each: what is earned is on the last, and a trajectory estimator sums them.
    rows: [
      { before: 0, after: 0, stateHash: null },
      { before: before ?? 0, after: after ?? 0, stateHash: null },
    ],
  })),
});
const grpo = chooseEstimator('grpo', {});
const drGrpo = chooseEstimator('grpo', { scale: 'none' });

test('estimators are also known by the names of `espalier train`', () => {
  expect(chooseEstimator('ppo', {}).name).toBe('gae');
  expect(chooseEstimator('reinforce++', {}).name).toBe('reinforce_plus_plus');
  expect(() => chooseEstimator('dpo', {})).toThrow('there is no estimator dpo');
});

describe('advantages in two states', () => {
  const groups = [
    group('a', [
      [1, 0],
      [0, 1],
    ]),
    group('b', [
      [1, 1],
      [0, 0],
      [0, 0],
    ]),
  ];

  test('advantages are (s − μ)/(σ + 1e-6) of the group, with the unbiased σ', () => {
    const found = estimateAdvantages(groups, { before: grpo, after: grpo });
    const two = 0.5 / (Math.sqrt(0.5) + 1e-6);
    expect(found.get(keyInTree('a', 'a0'))?.before).toBeCloseTo(two, 12);
    expect(found.get(keyInTree('a', 'a0'))?.after).toBeCloseTo(-two, 12);
    expect(found.get(keyInTree('b', 'b0'))?.before).toBeCloseTo(2 / 3 / (Math.sqrt(1 / 3) + 1e-6), 12);
    expect(found.get(keyInTree('b', 'b0'))?.after).toBe(found.get(keyInTree('b', 'b0'))?.before);
  });

  test('another estimator alone changes the advantages of equal scores', () => {
    const found = estimateAdvantages(groups, { before: grpo, after: drGrpo });
    expect(found.get(keyInTree('b', 'b0'))).toEqual({ before: expect.any(Number), after: 1 - 1 / 3 });
  });

  test('a group whose order changed is reported with its members, and one without a change is not', () => {
    const changes = changesOf(groups, estimateAdvantages(groups, { before: grpo, after: grpo }));
    expect(changes).toMatchObject([{ treeId: 'a', members: 2, otherReturns: 2, otherAdvantages: 2, turned: 2 }]);
    expect(changes.map(describeChange)).toEqual([
      'group a (task a): mean return 0.5000 → 0.5000; 2 of 2 advantages other, by 1.41 at most, 2 with the other sign',
    ]);
  });
});

test('a member that nobody rewarded has no advantage and no part in the mean, and what a score changes is shown', () => {
  const groups = [
    group('a', [
      [1, 1],
      [3, 3],
      [null, 5],
    ]),
  ];
  const found = estimateAdvantages(groups, { before: drGrpo, after: drGrpo });
  expect([...found.values()]).toEqual([
    { before: -1, after: -2 },
    { before: 1, after: 0 },
    { before: null, after: 2 },
  ]);
  const [change] = changesOf(groups, found);
  expect(change).toMatchObject({ returns: { before: 2, after: 3 }, otherReturns: 1, otherAdvantages: 3, largest: 1 });
});

test('an unknown estimator, and one that needs more than scores, is refused with the reason', () => {
  expect(() => chooseEstimator('nobody', {})).toThrow(/there is no estimator nobody; there are gae, grpo/);
  expect(() => chooseEstimator('grpo', { scale: 'loud' })).toThrow(/scale is one of std, none, floored-std/);
  const gae = chooseEstimator('gae', {});
  expect(() => estimateAdvantages([group('a', [[1, 1]])], { before: gae, after: gae })).toThrow(/it has no values/);
});
