import { describe, expect, test } from '@jest/globals';
import { type DrawnStep, drawSearch, drawTree } from './draw-tree.ts';
import { growTree } from './grow-tree.ts';

function step(stepId: string, parentStepId: string | null, action: string, termination = 'none', observation = 'ok'): DrawnStep {
  return { stepId, parentStepId, action, termination, observation };
}

describe('drawings', () => {
  test('a drawing merges siblings with the same action, joins stretches without a fork, and counts successes', () => {
    const tree = growTree([
      step('root', null, '', 'none', 'Commands:\n\nGoal: craft rod.'),
      step('a1', 'root', 'get 1 wood'),
      step('a2', 'root', 'get 1 wood'),
      step('b', 'root', 'inventory', 'truncated'),
      step('a1x', 'a1', 'craft rod', 'terminated'),
      step('a2x', 'a2', 'craft rod', 'terminated'),
    ]);
    expect(drawTree(tree, new Set(['a1x']), { lines: 10 })).toEqual({
      lines: ['● Goal: craft rod.  1/3', '├─ get 1 wood → craft rod ×2 ■  1/2', '└─ inventory …  0/1'],
      hidden: 0,
    });
  });

  test('a drawing shows a line per step that ends in its id, on request', () => {
    const tree = growTree([
      step('root', null, '', 'none', 'Goal.'),
      step('a1', 'root', 'get 1 wood'),
      step('a2', 'root', 'get 1 wood'),
      step('a1x', 'a1', 'craft rod', 'terminated'),
      step('a2x', 'a2', 'craft rod', 'terminated'),
      step('b', 'root', 'inventory'),
    ]);
    expect(drawTree(tree, new Set(), { lines: 10, ids: true }).lines).toEqual([
      '● Goal.  0/2  root',
      '├─ get 1 wood ×2  0/2  a1',
      '│  └─ craft rod ×2 ■  0/2  a1x',
      '└─ inventory  0/0  b',
    ]);
  });

  test('a drawing elides the middle of a long stretch and shows how many lines it omits', () => {
    const chain = Array.from({ length: 8 }, (_, i) => step(`c${i}`, i === 0 ? 'root' : `c${i - 1}`, `do ${i}`));
    const tree = growTree([step('root', null, '', 'none', 'Goal.'), ...chain, step('other', 'root', 'wait')]);
    expect(drawTree(tree, new Set(), { lines: 2 })).toEqual({
      lines: ['● Goal.  0/0', '├─ do 0 → (6 more) → do 7  0/0'],
      hidden: 1,
    });
  });

  test('the drawing of a search shows visits and mean values, the most visited branch first', () => {
    const tree = growTree([
      step('root', null, '', 'none', 'Goal: craft rod.'),
      step('a', 'root', 'inventory'),
      step('b', 'root', 'get 1 wood'),
      step('bx', 'b', 'craft rod', 'terminated'),
      step('by', 'b', 'get 1 wood'),
      step('c', 'root', 'get 1 stone'),
    ]);
    const visited = new Map([
      ['root', { visits: 4, valueSum: 2 }],
      ['a', { visits: 1, valueSum: 0 }],
      ['b', { visits: 3, valueSum: 2 }],
      ['bx', { visits: 2, valueSum: 2 }],
      ['by', { visits: 1, valueSum: 0 }],
    ]);
    expect(drawSearch(tree, visited, { lines: 10 }).lines).toEqual([
      '● Goal: craft rod.  4 visits, value 0.50',
      '├─ get 1 wood  3 visits, value 0.67',
      '│  ├─ craft rod ■  2 visits, value 1.00',
      '│  └─ get 1 wood  1 visit, value 0.00',
      '├─ inventory  1 visit, value 0.00',
      '└─ get 1 stone  not visited',
    ]);
  });
});
