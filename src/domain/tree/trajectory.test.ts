import { describe, expect, test } from '@jest/globals';
import { growTree, pathTo } from './grow-tree.ts';
import { indexRewards, rewardsAlong, sumByComponent } from './trajectory.ts';

const tree = growTree([
  { stepId: 'root', parentStepId: null },
  { stepId: 'shared', parentStepId: 'root' },
  { stepId: 'left', parentStepId: 'shared' },
  { stepId: 'right', parentStepId: 'shared' },
]);
const along = (rolloutId: string, leafStepId: string) => {
  const rollout = { rolloutId, fromStepId: 'root', leafStepId };
  return sumByComponent(rewardsAlong({ rollout, path: pathTo(tree, leafStepId) }, index));
};
const index = indexRewards([
  { stepId: 'shared', rolloutId: 'one', component: 'format', value: 0.25 },
  { stepId: 'left', rolloutId: 'one', component: 'outcome', value: 1 },
  { stepId: 'right', rolloutId: 'two', component: 'outcome', value: -1 },
  { stepId: null, rolloutId: 'two', component: 'format', value: 0.5 },
]);

describe('trajectories of a tree', () => {
  test('the rewards of the path count, those of shared steps included, and those of the rollout itself', () => {
    expect(along('one', 'left')).toEqual({ format: 0.25, outcome: 1 });
    expect(along('two', 'right')).toEqual({ format: 0.75, outcome: -1 });
  });

  test('components are listed in one order, whatever the order of their rewards', () => {
    const reward = (component: string) => ({ stepId: null, rolloutId: 'one', component, value: 1 });
    expect(JSON.stringify(sumByComponent([reward('b'), reward('a')]))).toBe('{"a":1,"b":1}');
  });
});
