import { describe, expect, test } from '@jest/globals';
import { type DrawnStep, drawTree } from './draw-tree.ts';
import { growTree } from './grow-tree.ts';

function step(stepId: string, parentStepId: string | null, action: string, termination = 'none', observation = 'ok'): DrawnStep {
  return { stepId, parentStepId, action, termination, observation };
}

describe('a drawing', () => {
  test('merges siblings that did the same, joins stretches without a fork, and counts successes', () => {
    const tree = growTree([
      step('root', null, '', 'none', 'Commands:\n\nGoal: craft rod.'),
      step('a1', 'root', 'get 1 wood'),
      step('a2', 'root', 'get 1 wood'),
      step('b', 'root', 'inventory', 'truncated'),
      step('a1x', 'a1', 'craft rod', 'terminated'),
      step('a2x', 'a2', 'craft rod', 'terminated'),
    ]);
    expect(drawTree(tree, new Set(['a1x']), 10)).toEqual({
      lines: ['● Goal: craft rod.  1/3', '├─ get 1 wood → craft rod ×2 ■  1/2', '└─ inventory …  0/1'],
      hidden: 0,
    });
  });

  test('elides the middle of a long stretch and says how many lines it leaves out', () => {
    const chain = Array.from({ length: 8 }, (_, i) => step(`c${i}`, i === 0 ? 'root' : `c${i - 1}`, `do ${i}`));
    const tree = growTree([step('root', null, '', 'none', 'Goal.'), ...chain, step('other', 'root', 'wait')]);
    expect(drawTree(tree, new Set(), 2)).toEqual({
      lines: ['● Goal.  0/0', '├─ do 0 → (6 more) → do 7  0/0'],
      hidden: 1,
    });
  });
});
