import { describe, expect, test } from '@jest/globals';
import type { Environment, EnvironmentKind, StepResult } from '../../environments/environment.ts';
import { compareWithOpening, wantsComparison } from './episodes.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';

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

/** A tree of an environment whose episodes are the one given. */
function treeOf(episode: Environment, kind: Partial<EnvironmentKind> = {}) {
  const compared: string[] = [];
  const given = {
    name: 'counter',
    fingerprint: '1',
    taskAliases: ['a'],
    unproven: { rate: 0.5 },
    create: async () => episode,
    ...kind,
  };
  // what the check reads of a tree
  const tree = {
    kind: given,
    task: { alias: 'a' },
    plan: { taskSeed: 0 },
    signal: new AbortController().signal,
    onCompared: (verdict: string) => compared.push(verdict),
  } as unknown as GrowingTree;
  return { tree, compared };
}
const node = (action: string, observation: string) => ({ action, observation, pictures: [] }) as unknown as TreeNode; // as above
const answer = (observation: string): StepResult => ({ observation, ...running, ...unlisted });
const path = [node('', '0'), node('2', '2')];
const answered = (observation: string) => ({ path, action: '1', result: answer(observation), hasCopied: true });

describe('what an environment says of itself', () => {
  test('a copy that goes where the same actions lead from the opening is left alone, and the comparison is counted', async () => {
    const episode = counter({ count: 9 });
    const { tree, compared } = treeOf(episode);
    await compareWithOpening(tree, answered('3'));
    expect([episode.closed(), compared]).toEqual([true, ['same']]);
  });

  test('a copy that shows what was done in another one is refused with action, both texts and the remedy', async () => {
    const episode = counter({ count: 9 });
    await expect(compareWithOpening(treeOf(episode).tree, answered('7'))).rejects.toMatchObject({
      code: 'claim',
      message: expect.stringMatching(
        /^copies of an episode of counter share state: after "1" it showed "7", and the same actions from the opening show "3" in task "[^"]+"; let a copy .* share nothing with its original, or offer none$/,
      ),
    });
    expect(episode.closed()).toBe(true);
  });

  test('nothing is said of an environment that neither repeats itself nor claims to', async () => {
    let noise = 0;
    const { tree, compared } = treeOf(counter({ count: 9 }, () => ` ${noise++}`));
    await compareWithOpening(tree, answered('7'));
    expect(compared).toEqual(['undecided']);
  });

  test('an environment that claims to be deterministic and answers otherwise is refused with the remedy', async () => {
    let noise = 0;
    const { tree } = treeOf(
      counter({ count: 9 }, () => ` ${noise++}`),
      { deterministic: true },
    );
    await expect(compareWithOpening(tree, answered('3 9'))).rejects.toThrow(
      /^counter claims to be deterministic and is not: .*; leave "deterministic" out of its description$/,
    );
  });

  test('where nothing was copied, a difference is refused for the claim to be deterministic, and undecided without it', async () => {
    const alone = { ...answered('7'), hasCopied: false };
    const claims = treeOf(counter({ count: 9 }), { deterministic: true });
    await expect(compareWithOpening(claims.tree, alone)).rejects.toThrow(/^counter claims to be deterministic and is not: /);
    const { tree, compared } = treeOf(counter({ count: 9 }));
    await compareWithOpening(tree, alone);
    expect(compared).toEqual(['undecided']);
  });

  test('the first answer is compared, and others at the rate of the description, the same ones each time; of our own none', () => {
    const { kind } = treeOf(counter({ count: 0 })).tree;
    const chosen = (isFirst: boolean, of = kind) =>
      Array.from({ length: 1_000 }, (_, i) => wantsComparison(of, { isFirst, stepId: `s${i}` }));
    expect(chosen(true)).toEqual(Array(1_000).fill(true));
    const many = chosen(false);
    expect(many.filter(Boolean).length).toBeGreaterThan(400);
    expect(many.filter(Boolean).length).toBeLessThan(600);
    expect(chosen(false)).toEqual(many);
    const { unproven: _, ...shipped } = kind;
    expect(chosen(true, shipped)).toEqual(Array(1_000).fill(false));
  });
});
