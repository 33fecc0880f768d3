import { describe, expect, test } from '@jest/globals';
import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import { checkCopies, wantsCheck } from './check-copies.ts';
import type { GrowingTree } from './growing-tree.ts';
import type { TreeNode } from './tree-node.ts';

const unpaid = { value: 0, raw: 0, scale: 1, kind: 'final' as const };
const running = { reward: unpaid, terminated: false, truncated: false, success: null, executable: true };
const unlisted = { admissibleActions: null, stateHash: null };

/** Counts upwards from 0; every answer shows the count, and `noise` what follows it. */
function counter(state: { count: number }, noise: () => string = () => ''): Environment & { closed: () => boolean } {
  let closed = false;
  const shown = () => ({ observation: `${state.count}${noise()}`, ...unlisted });
  return {
    reset: async () => {
      state.count = 0;
      return { ...shown(), instruction: '', goal: '', depth: null, split: null };
    },
    step: async (action) => {
      state.count += Number(action);
      return { ...shown(), ...running };
    },
    parse: (response) => ({ thought: '', action: response, wellFormatted: true }),
    close: async () => {
      closed = true;
    },
    closed: () => closed,
  };
}

function treeOf(kind: Partial<EnvironmentKind>): GrowingTree {
  const given = { name: 'counter', fingerprint: '1', taskAliases: ['a'], copies: 'unproven', ...kind };
  // what the check reads of a tree
  return {
    kind: given,
    task: { alias: 'a' },
    plan: { taskSeed: 0 },
    signal: new AbortController().signal,
  } as unknown as GrowingTree;
}
const node = (action: string, observation: string) => ({ action, observation, pictures: [] }) as unknown as TreeNode; // as above
const answer = (observation: string): StepResult => ({ observation, ...running, ...unlisted });
const path = [node('', '0'), node('2', '2')];

describe('copies of an episode', () => {
  test('a copy that goes where the same actions lead from the opening is left alone, and closed', async () => {
    const copy = counter({ count: 9 });
    await checkCopies(treeOf({}), copy, { path, action: '1', result: answer('3') });
    expect(copy.closed()).toBe(true);
  });

  test('a copy that shows what was done in another one is refused with action, both texts and the remedy', async () => {
    const copy = counter({ count: 9 });
    await expect(checkCopies(treeOf({}), copy, { path, action: '1', result: answer('7') })).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringMatching(
        /^copies of an episode of counter share state: behind "1" a copy showed "7", and the same actions from the opening show "3"; let a copy .* share nothing with its original, or offer none$/,
      ),
    });
    expect(copy.closed()).toBe(true);
  });

  test('nothing is said of an environment that does not repeat itself', async () => {
    let noise = 0;
    const copy = counter({ count: 9 }, () => ` ${noise++}`);
    await checkCopies(treeOf({}), copy, { path, action: '1', result: answer('7') });
  });

  test('the first three expansions of an environment that is not ours are looked at, and no other', async () => {
    const tree = treeOf({});
    const looked = [];
    for (let i = 0; i < 4; i++) {
      looked.push(wantsCheck(tree.kind));
      await checkCopies(tree, counter({ count: 0 }), { path, action: '1', result: answer('3') });
    }
    expect(looked).toEqual([true, true, true, false]);
    const { copies: _, ...shipped } = treeOf({}).kind;
    expect(wantsCheck(shipped)).toBe(false);
  });
});
