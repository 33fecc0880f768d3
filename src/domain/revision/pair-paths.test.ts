import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { branchOf, contentOf, type LeafPath, leafPaths, pairAsPublished, pairPaths } from './pair-paths.ts';
import { anyTree, plant } from './revision-testing.ts';
import { refuseThresholds, THRESHOLD_DEFAULTS } from './thresholds.ts';

const words = ({ steps }: LeafPath) => steps.map(({ action }) => action.replace('act ', '')).join('');
const named = (pairs: readonly { good: LeafPath; bad: LeafPath }[]) => pairs.map(({ good, bad }) => [words(good), words(bad)]);
const thresholds = fc.record({ alpha: fc.constantFrom(0.125, 0.5, 1), beta: fc.constantFrom(0, 0.125, 0.25) });

describe('sound pairing', () => {
  test('a reward of exactly alpha is good, and a gap of exactly beta is wide enough, in decimals', () => {
    const tree = plant([
      { words: 'x', shared: 0, score: 0.7 },
      { words: 'y', shared: 0, score: 0.5 },
      { words: 'w', shared: 0, score: 1 },
    ]);
    expect(named(pairPaths(tree, { alpha: 0.5, beta: 0.2 }).pairs)).toEqual([
      ['w', 'x'],
      ['w', 'y'],
      ['x', 'y'],
    ]);
    expect(named(pairPaths(tree, { alpha: 1, beta: 0.2 }).pairs)).toEqual([
      ['w', 'x'],
      ['w', 'y'],
    ]);
    expect(named(pairAsPublished(tree, { alpha: 0.5, beta: 0.2 }).accepted)).not.toContainEqual(['x', 'y']);
    expect(pairAsPublished(tree, { alpha: 1, beta: 0.2 }).accepted).toEqual([]);
  });

  test('equal rewards make no pair even with beta 0, and a tree that earned nothing yields no pair', () => {
    const equal = [
      { words: 'a', shared: 0, score: 1 },
      { words: 'b', shared: 0, score: 1 },
    ];
    expect(pairPaths(plant(equal), { alpha: 0.5, beta: 0 })).toMatchObject({ pairs: [], good: [{}, {}] });
    const nothing = equal.map((path) => ({ ...path, score: 0 }));
    expect(pairPaths(plant(nothing), THRESHOLD_DEFAULTS)).toEqual({ good: [], bad: [], pairs: [] });
  });

  test('trajectories of the same words count once, whatever their ids', () => {
    const tree = plant([
      { words: 'ab', shared: 0, score: 1 },
      { words: 'ab', shared: 0, score: 1 },
      { words: 'ac', shared: 0, score: 0 },
      { words: 'ac', shared: 1, score: 0 },
    ]);
    expect(leafPaths(tree)).toHaveLength(4);
    const { pairs } = pairPaths(tree, THRESHOLD_DEFAULTS);
    expect(named(pairs)).toEqual([['ab', 'ac']]);
    expect(pairs[0]?.branch).toBe(1);
  });

  test('pairs of any tree are unique, meet the thresholds, branch at the first differing step, and list every bad path once', () => {
    fc.assert(
      fc.property(anyTree, thresholds, (tree, given) => {
        const { good, bad, pairs } = pairPaths(tree, given);
        const contents = pairs.map((pair) => contentOf(pair.good.steps) + contentOf(pair.bad.steps));
        expect(new Set(contents).size).toBe(pairs.length);
        for (const pair of pairs) {
          expect(pair.good.average).toBeGreaterThanOrEqual(given.alpha);
          expect(pair.good.average - pair.bad.average).toBeGreaterThanOrEqual(given.beta);
          expect(pair.good.average).toBeGreaterThan(pair.bad.average);
          expect(words(pair.good).slice(0, pair.branch)).toBe(words(pair.bad).slice(0, pair.branch));
          expect(words(pair.good)[pair.branch]).not.toBe(words(pair.bad)[pair.branch]);
          expect(pair.branch).toBe(branchOf(pair.good, pair.bad));
        }
        expect(new Set(pairs.map((pair) => pair.bad))).toEqual(new Set(bad));
        expect(new Set(bad.map(({ leafStepId }) => leafStepId)).size).toBe(bad.length);
        for (const { average } of good) expect(average).toBeGreaterThanOrEqual(given.alpha);
      }),
    );
  });
});

describe('thresholds', () => {
  test.each([
    [{ alpha: 50, beta: 20 }, 'alpha is 50'],
    [{ alpha: 0, beta: 0.2 }, 'alpha is 0'],
    [{ alpha: Number.NaN, beta: 0.2 }, 'alpha is NaN'],
    [{ alpha: 0.5, beta: -0.1 }, 'beta is -0.1'],
    [{ alpha: 0.5, beta: 20 }, 'beta is 20'],
  ])('the thresholds %j are refused with the reason', (given, reason) => {
    expect(refuseThresholds(given)).toContain(reason);
  });

  test('the thresholds of all three iterations of the paper are accepted', () => {
    expect([0.5, 0.7, 1].map((alpha) => refuseThresholds({ alpha, beta: 0.2 }))).toEqual([null, null, null]);
  });
});
