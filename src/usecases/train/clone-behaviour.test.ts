import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { weightsDigest, zeroWeights } from '../../policies/linear/weights.ts';
import { candidateLogProbs } from '../../policies/linear-policy.ts';
import { anActRequest } from '../../testing/act-request.ts';
import { type ClonedAction, chooseCandidate, cloneBehaviour } from './clone-release.ts';

const request = anActRequest();
const candidates = request.admissibleActions ?? [];
const options = { epochs: 3, learningRate: 0.1, seed: 1 };
const action = (chosen: number, part: Partial<ClonedAction> = {}): ClonedAction => ({
  situation: request,
  candidates,
  chosen,
  weight: 1,
  ...part,
});

describe('cloneBehaviour', () => {
  test('cloning makes any cloned action more probable and reduces the loss', () => {
    fc.assert(
      fc.property(fc.nat(candidates.length - 1), fc.nat(), (chosen, seed) => {
        const { weights, losses } = cloneBehaviour(zeroWeights(), [action(chosen)], { ...options, seed });
        const before = candidateLogProbs(zeroWeights(), request, candidates, 1)[chosen] ?? 0;
        const after = candidateLogProbs(weights, request, candidates, 1)[chosen] ?? 0;
        expect(after).toBeGreaterThan(before);
        expect(losses[0]).toBeCloseTo(-before, 12);
        expect(losses[2]).toBeLessThan(losses[0] ?? 0);
      }),
      { numRuns: 20 },
    );
  });

  test('cloning yields the same bytes for the same actions and seed, and another order for another seed', () => {
    const actions = [0, 1, 2, 3].map((chosen) => action(chosen, { weight: 1 + chosen / 10 }));
    const digest = (seed: number) => weightsDigest(cloneBehaviour(zeroWeights(), actions, { ...options, seed }).weights);
    expect(digest(1)).toBe(digest(1));
    expect(digest(1)).not.toBe(digest(2));
  });

  test('cloning does not change the initial weights, and returns their next version', () => {
    const from = zeroWeights();
    const { weights } = cloneBehaviour(from, [action(0)], options);
    expect([from.version, weights.version]).toEqual([0, 1]);
    expect(weightsDigest(from)).toBe(weightsDigest(zeroWeights()));
  });

  test('an action of weight zero has no effect next to one with weight', () => {
    const alone = cloneBehaviour(zeroWeights(), [action(0)], options);
    const together = cloneBehaviour(zeroWeights(), [action(0), action(1, { weight: 0 })], options);
    expect(together.weights.values).toEqual(alone.weights.values);
    expect(together.losses).toEqual(alone.losses);
  });

  test('cloning nothing is refused', () => {
    expect(() => cloneBehaviour(zeroWeights(), [], options)).toThrow('no action to clone');
  });
});

describe('chooseCandidate', () => {
  test('chooseCandidate returns the action itself, else the same with other amounts, else none', () => {
    const offered = ['get 1 oak', 'get 2 oak', 'craft 4 plank using 1 oak'];
    expect(chooseCandidate(offered, 'get 2 oak')).toBe(1);
    expect(chooseCandidate(offered, 'get 9 oak')).toBe(0);
    expect(chooseCandidate(offered, 'craft 8 plank using 2 oak')).toBe(2);
    expect(chooseCandidate(offered, 'get 1 stone')).toBeNull();
  });
});
