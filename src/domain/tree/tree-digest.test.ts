import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { arbitraryTree } from '../../testing/arbitrary-tree.ts';
import { type DigestedTree, treeDigest } from './tree-digest.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const digest = (tree: DigestedTree) => treeDigest(tree, sha256);

/** Sorts by a seeded hash: a permutation that fast-check can shrink and repeat. */
const shuffled = <T>(items: readonly T[], seed: number): T[] =>
  items
    .map((item, i) => ({ item, key: sha256(`${seed}:${i}`) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);

function renamed(tree: DigestedTree, prefix: string): DigestedTree {
  const to = (id: string) => prefix + id;
  const orNull = (id: string | null) => (id === null ? null : to(id));
  return {
    ...tree,
    steps: tree.steps.map((s) => ({ ...s, stepId: to(s.stepId), parentStepId: orNull(s.parentStepId) })),
    rollouts: tree.rollouts.map((r) => ({
      ...r,
      rolloutId: to(r.rolloutId),
      fromStepId: to(r.fromStepId),
      leafStepId: orNull(r.leafStepId),
    })),
    rewards: tree.rewards.map((w) => ({ ...w, stepId: orNull(w.stepId), rolloutId: orNull(w.rolloutId) })),
  };
}

describe('the digest of a tree', () => {
  test('neither ids nor the order of arrival change the digest', () => {
    fc.assert(
      fc.property(arbitraryTree, fc.nat(), (tree, seed) => {
        const other = renamed(tree, 'x');
        const moved = {
          ...other,
          steps: shuffled(other.steps, seed),
          rollouts: shuffled(other.rollouts, seed),
          rewards: shuffled(other.rewards, seed),
        };
        expect(digest(moved)).toBe(digest(tree));
      }),
    );
  });

  test.each(['response', 'thought', 'action', 'observation', 'termination'] as const)(
    'a change of the %s of a step changes the digest',
    (field) => {
      fc.assert(
        fc.property(arbitraryTree, fc.nat(), (tree, at) => {
          const k = at % tree.steps.length;
          const steps = tree.steps.map((s, i) => (i === k ? { ...s, [field]: `${s[field]}!` } : s));
          expect(digest({ ...tree, steps })).not.toBe(digest(tree));
        }),
      );
    },
  );

  test('a change of a reward’s value, component or presence changes the digest', () => {
    fc.assert(
      fc.property(
        arbitraryTree.filter((tree) => tree.rewards.length > 0),
        fc.nat(),
        (tree, at) => {
          const k = at % tree.rewards.length;
          const change = (edit: object) => ({ ...tree, rewards: tree.rewards.map((w, i) => (i === k ? { ...w, ...edit } : w)) });
          const before = digest(tree);
          expect(digest(change({ value: 99 }))).not.toBe(before);
          expect(digest(change({ component: 'c' }))).not.toBe(before);
          expect(digest({ ...tree, rewards: tree.rewards.filter((_, i) => i !== k) })).not.toBe(before);
        },
      ),
    );
  });

  test('a changed outcome and a repeated rollout change the digest', () => {
    fc.assert(
      fc.property(
        arbitraryTree.filter((tree) => tree.rollouts.length > 0),
        (tree) => {
          const [first, ...rest] = tree.rollouts;
          if (!first) throw new Error('filtered above');
          expect(digest({ ...tree, rollouts: [{ ...first, outcome: 'failed' }, ...rest] })).not.toBe(digest(tree));
          expect(digest({ ...tree, rollouts: [...tree.rollouts, { ...first, rolloutId: 'again' }] })).not.toBe(digest(tree));
        },
      ),
    );
  });

  test('the same steps in another shape have another digest', () => {
    const tree = fc.sample(arbitraryTree, { numRuns: 1, seed: 1 })[0];
    const same = tree?.steps[0];
    if (!tree || !same) throw new Error('a tree has a root');
    const chain = [same, { ...same, stepId: 'p', parentStepId: same.stepId }, { ...same, stepId: 'q', parentStepId: 'p' }];
    const fan = [same, { ...same, stepId: 'p', parentStepId: same.stepId }, { ...same, stepId: 'q', parentStepId: same.stepId }];
    const bare = { ...tree, rollouts: [], rewards: [] };
    expect(digest({ ...bare, steps: chain })).not.toBe(digest({ ...bare, steps: fan }));
  });

  test.each(['environment', 'serverFingerprint', 'alias', 'goal', 'instruction'] as const)(
    'the %s of the task changes the digest',
    (field) => {
      fc.assert(
        fc.property(arbitraryTree, (tree) => {
          expect(digest({ ...tree, [field]: 'other' })).not.toBe(digest(tree));
        }),
      );
    },
  );
});
