import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { givenRows, someBatch, someNumber } from '../training-testing.ts';
import { centreOnGroup, groupPolicyGradient, leaveOneOut, lengthWeighted } from './group-baselines.ts';
import { groupRelative, passAtK } from './group-estimators.ts';
import { greedyBaseline } from './return-estimators.ts';

const trajectories = ['a', 'b', 'c', 'd'];
const group = (size: number) => Array.from({ length: size }, () => 'g');
const scoresOfGroup = fc.array(someNumber, { minLength: 2, maxLength: 8 });

describe('group baselines', () => {
  test('equal scores yield exactly 0, whatever the rounding of the mean', () => {
    fc.assert(
      fc.property(fc.double({ min: -9, max: 9, noNaN: true }), fc.integer({ min: 2, max: 9 }), (score, size) => {
        const scores = Array.from({ length: size }, () => score);
        const names = scores.map((_, i) => `t${i}`);
        const options = { over: 'rows', scale: 'std', singleton: 'raw' } as const;
        expect(groupRelative({ scores, groups: group(size), trajectories: names }, options).every((a) => a === 0)).toBe(true);
        expect(leaveOneOut(scores, group(size), 'raw').every((a) => a === 0)).toBe(true);
        expect(passAtK(scores, group(size), 'std').every((a) => a === 0)).toBe(true);
      }),
    );
  });

  test('the advantages of a GRPO group sum to 0 and have deviation 1', () => {
    fc.assert(
      fc.property(scoresOfGroup, (scores) => {
        fc.pre(Math.max(...scores) - Math.min(...scores) > 0.1);
        const names = scores.map((_, i) => `t${i}`);
        const input = { scores, groups: group(scores.length), trajectories: names };
        const a = groupRelative(input, { over: 'rows', scale: 'std', singleton: 'raw' });
        expect(a.reduce((x, y) => x + y, 0)).toBeCloseTo(0, 9);
        expect(a.reduce((x, y) => x + y * y, 0) / (a.length - 1)).toBeCloseTo(1, 3);
      }),
    );
  });

  test('the RLOO advantage is the score minus the mean of the others', () => {
    fc.assert(
      fc.property(scoresOfGroup, (scores) => {
        const expected = scores.map(
          (s, i) => s - scores.filter((_, j) => j !== i).reduce((x, y) => x + y, 0) / (scores.length - 1),
        );
        for (const [i, a] of leaveOneOut(scores, group(scores.length), 'raw').entries())
          expect(a).toBeCloseTo(expected[i] ?? Number.NaN, 9);
      }),
    );
  });

  test('a group of one keeps its score, yields 0 or is refused, depending on the option', () => {
    expect(Array.from(centreOnGroup([0.7], ['g'], 'raw'))).toEqual([0.7]);
    expect(Array.from(centreOnGroup([0.7], ['g'], 'zero'))).toEqual([0]);
    expect(() => centreOnGroup([0.7], ['g'], 'forbidden')).toThrow('group g has one member');
    expect(() => passAtK([0.7], ['g'], 'none')).toThrow('group g has one member');
  });

  test('the mean over rows favours long episodes, that over trajectories weighs each once, and sums add the steps first', () => {
    const input = { scores: [1, 1, 1, 0], groups: group(4), trajectories: ['long', 'long', 'long', 'short'] };
    const rest = { scale: 'none', singleton: 'raw' } as const;
    expect(Array.from(groupRelative(input, { over: 'rows', ...rest }))).toEqual([0.25, 0.25, 0.25, -0.75]);
    expect(Array.from(groupRelative(input, { over: 'trajectories', ...rest }))).toEqual([0.5, 0.5, 0.5, -0.5]);
    expect(Array.from(groupRelative(input, { over: 'trajectory-sums', ...rest }))).toEqual([1.5, 1.5, 1.5, -1.5]);
  });

  test('a floored deviation shrinks groups of low variance and leaves others unchanged', () => {
    const floored = { over: 'rows', scale: 'floored-std', singleton: 'raw' } as const;
    const low = groupRelative({ scores: [0, 1e-5, 0, 1e-5], groups: group(4), trajectories }, floored);
    expect(Math.max(...low)).toBeCloseTo(0.5e-5 / (1e-3 + 1e-6), 9);
    const high = { scores: [0, 1, 0, 1], groups: group(4), trajectories };
    expect(groupRelative(high, floored)).toEqual(groupRelative(high, { ...floored, scale: 'std' }));
  });

  test('OPO weighs the baseline by length, and its advantages sum to 0 over tokens', () => {
    const advantages = lengthWeighted([1, 0], ['g', 'g'], [3, 1], 'raw');
    expect(Array.from(advantages)).toEqual([0.25, -0.75]);
  });

  test('GPG without any signal yields 0, not NaN', () => {
    expect(Array.from(groupPolicyGradient([0, 0], ['g', 'g'], { fNorm: 1, singleton: 'raw' }))).toEqual([0, 0]);
  });

  test('Pass@k credits only the best of a group, by its lead', () => {
    expect(Array.from(passAtK([0.1, 0.75, 0.5], group(3), 'none'))).toEqual([0, 0.25, 0]);
  });
});

test('ReMax credits trained tokens with the remaining return minus the greedy score', () => {
  const masks = [Uint8Array.of(1, 0, 1)];
  const { advantages, returns } = greedyBaseline(givenRows([[0.25, 9, 1]]), masks, [0.5], null);
  expect(returns).toEqual(givenRows([[1.25, 1, 1]]));
  expect(advantages).toEqual(givenRows([[0.75, 1, 0.5]]));
});

test('the generated batches have groups of two or more', () => {
  fc.assert(fc.property(someBatch, ({ groups, trajectories: names }) => new Set(names).size >= 2 * new Set(groups).size));
});
