import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { arbitraryTree } from '../../testing/arbitrary-tree.ts';
import { growTree, leavesOf, pathTo, type TreeStep, walkDown } from './grow-tree.ts';

const step = (stepId: string, parentStepId: string | null): TreeStep => ({ stepId, parentStepId });
const bushy = [step('a', null), step('b', 'a'), step('c', 'a'), step('d', 'b'), step('e', 'b')];

describe('growTree', () => {
  test('every step links to its parent and, in row order, to its children', () => {
    const { root, nodes } = growTree(bushy);
    expect(root.step.stepId).toBe('a');
    expect(nodes.get('b')?.children.map((child) => child.step.stepId)).toEqual(['d', 'e']);
    expect(nodes.get('d')?.parent?.step.stepId).toBe('b');
  });

  test('leaves are the steps without children, and a path runs from the root', () => {
    const tree = growTree(bushy);
    expect(leavesOf(tree).map((leaf) => leaf.stepId)).toEqual(['c', 'd', 'e']);
    expect(pathTo(tree, 'e').map((s) => s.stepId)).toEqual(['a', 'b', 'e']);
  });

  test('children may come before their parents', () => {
    expect(growTree([...bushy].reverse()).nodes.get('b')?.children).toHaveLength(2);
  });

  test.each([
    ['two rows of one step', [step('a', null), step('b', 'a'), step('b', 'a')], 'step b occurs twice'],
    ['two roots', [step('a', null), step('b', null)], 'steps a and b are both roots'],
    ['no root', [], 'no root'],
    ['a missing parent', [step('a', null), step('b', 'x')], 'step b hangs on step x'],
    ['a ring apart from the root', [step('a', null), step('b', 'c'), step('c', 'b')], 'step b is its own ancestor'],
  ])('%s is refused by name', (_, rows, message) => {
    expect(() => growTree(rows)).toThrow(message);
  });

  test('a path to an unknown step is refused by name', () => {
    expect(() => pathTo(growTree(bushy), 'x')).toThrow('no step x');
  });

  test('a chain deeper than the call stack is walked', () => {
    const chain = Array.from({ length: 50_000 }, (_, i) => step(`s${i}`, i === 0 ? null : `s${i - 1}`));
    const tree = growTree(chain);
    expect([...walkDown(tree.root)]).toHaveLength(50_000);
    expect(pathTo(tree, 's49999')).toHaveLength(50_000);
  });

  test('each path of any tree follows the parents of its end up to the root', () => {
    fc.assert(
      fc.property(arbitraryTree, ({ steps }) => {
        const tree = growTree(steps);
        for (const { stepId } of steps) {
          const path = pathTo(tree, stepId);
          expect(path[0]).toBe(tree.root.step);
          expect(path.at(-1)?.stepId).toBe(stepId);
          for (let i = 1; i < path.length; i++) expect(path[i]?.parentStepId).toBe(path[i - 1]?.stepId);
        }
      }),
    );
  });

  test('a walk down any tree visits every step once, parents first', () => {
    fc.assert(
      fc.property(arbitraryTree, ({ steps }) => {
        const met = new Set<string>();
        for (const { step: at } of walkDown(growTree(steps).root)) {
          expect(at.parentStepId === null || met.has(at.parentStepId)).toBe(true);
          expect(met.has(at.stepId)).toBe(false);
          met.add(at.stepId);
        }
        expect(met.size).toBe(steps.length);
      }),
    );
  });
});
