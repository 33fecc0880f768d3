import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { finiteDifferences, largestGap } from '../training-testing.ts';
import { entropyGradient, entropyOfLogits, logProbGradient, logSoftmax } from './actor-loss.ts';

const someLogits = fc
  .array(fc.double({ min: -6, max: 6, noNaN: true }), { minLength: 1, maxLength: 6 })
  .map((values) => Float64Array.from(values));

describe('entropy of logits', () => {
  test('the gradients of the entropy and of a chosen log-probability equal the difference quotients', () => {
    fc.assert(
      fc.property(someLogits, fc.nat(), (logits, pick) => {
        const chosen = pick % logits.length;
        const ofEntropy = finiteDifferences([logits], ([z]) => entropyOfLogits(z ?? []));
        expect(largestGap([entropyGradient(logits)], ofEntropy)).toBeLessThan(1e-7);
        const ofLogProb = finiteDifferences([logits], ([z]) => logSoftmax(z ?? [])[chosen] ?? Number.NaN);
        expect(largestGap([logProbGradient(logits, chosen)], ofLogProb)).toBeLessThan(1e-7);
      }),
    );
  });

  test('a masked candidate with logit −∞ does not count', () => {
    const open = [1, 2];
    const masked = [1, Number.NEGATIVE_INFINITY, 2];
    expect(entropyOfLogits(masked)).toBeCloseTo(entropyOfLogits(open), 12);
    expect(entropyGradient(masked)[1]).toBe(0);
    expect(logProbGradient(masked, 0)[1]).toBe(0);
  });

  test('huge logits do not overflow', () => {
    expect(entropyOfLogits([1e4, 1e4])).toBeCloseTo(Math.log(2), 12);
    expect(logSoftmax([1e4, -1e4])[1]).toBe(-2e4);
  });

  test('a choice that does not exist has no gradient', () => {
    expect(() => logProbGradient([0, 1], 2)).toThrow(RangeError);
  });
});
