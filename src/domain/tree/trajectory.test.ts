import { describe, expect, test } from '@jest/globals';
import { growTree } from './grow-tree.ts';
import { indexRewards, returnOf, rewardsAlong, sumByComponent, trajectoriesOf } from './trajectory.ts';

const tree = growTree([
  { stepId: 'root', parentStepId: null },
  { stepId: 'shared', parentStepId: 'root' },
  { stepId: 'left', parentStepId: 'shared' },
  { stepId: 'right', parentStepId: 'shared' },
]);
const rollouts = [
  { rolloutId: 'one', fromStepId: 'root', leafStepId: 'left' },
  { rolloutId: 'two', fromStepId: 'shared', leafStepId: 'right' },
  { rolloutId: 'open', fromStepId: 'root', leafStepId: null },
];
const index = indexRewards([
  { stepId: 'shared', rolloutId: 'one', component: 'format', value: 0.25 },
  { stepId: 'left', rolloutId: 'one', component: 'outcome', value: 1 },
  { stepId: 'right', rolloutId: 'two', component: 'outcome', value: -1 },
  { stepId: null, rolloutId: 'two', component: 'format', value: 0.5 },
]);

describe('trajectories of a tree', () => {
  test('every finished rollout yields its root-to-leaf path, and an unfinished one yields none', () => {
    const found = [...trajectoriesOf(tree, rollouts)].map(({ rollout, path }) => [
      rollout.rolloutId,
      ...path.map((s) => s.stepId),
    ]);
    expect(found).toEqual([
      ['one', 'root', 'shared', 'left'],
      ['two', 'root', 'shared', 'right'],
    ]);
  });

  test('the return sums the rewards of the path, shared steps included, and those of the rollout itself', () => {
    const [one, two] = [...trajectoriesOf(tree, rollouts)];
    if (!one || !two) throw new Error('two rollouts are finished');
    expect(returnOf(one, index)).toBe(1.25);
    expect(returnOf(two, index)).toBe(-0.25);
    expect(sumByComponent(rewardsAlong(two, index))).toEqual({ format: 0.75, outcome: -1 });
  });

  test('components are listed in one order, whatever the order of their rewards', () => {
    const reward = (component: string) => ({ stepId: null, rolloutId: 'one', component, value: 1 });
    expect(JSON.stringify(sumByComponent([reward('b'), reward('a')]))).toBe('{"a":1,"b":1}');
  });
});
