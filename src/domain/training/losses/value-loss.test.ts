import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { finiteDifferences, largestGap, somePolicyInput } from '../training-testing.ts';
import { TOKEN_MEAN } from './policy-loss.ts';
import { valueLoss } from './value-loss.ts';

test('the gradient of the value loss equals the difference quotient, clipped or not', () => {
  fc.assert(
    fc.property(somePolicyInput, fc.constantFrom(0.2, 0.5), fc.constantFrom(0.5, 1), (drawn, clip, factor) => {
      const input = { predictions: drawn.logProbs, values: drawn.oldLogProbs, returns: drawn.advantages, masks: drawn.masks };
      // At the edge of the interval, and where both terms are equal, the maximum has a kink.
      fc.pre(
        input.predictions.every((row, i) =>
          row.every((v, t) => {
            const [old, target] = [input.values[i]?.[t] ?? 0, input.returns[i]?.[t] ?? 0];
            const held = Math.min(Math.max(v, old - clip), old + clip);
            return (
              Math.abs(Math.abs(v - old) - clip) > 1e-4 &&
              (held === v || Math.abs((v - target) ** 2 - (held - target) ** 2) > 1e-4)
            );
          }),
        ),
      );
      const { gradient } = valueLoss(input, { clip, factor }, TOKEN_MEAN);
      const quotient = finiteDifferences(
        input.predictions,
        (predictions) => valueLoss({ ...input, predictions }, { clip, factor }, TOKEN_MEAN).loss,
      );
      expect(largestGap(gradient, quotient)).toBeLessThan(1e-6);
    }),
  );
});
