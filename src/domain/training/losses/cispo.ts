import { numberOption } from '../method-options.ts';
import { at, rowAt } from '../rows/rows.ts';
import { clamp, definePolicyLoss, LOG_RATIO_BOUND, logRatio, meanNegativeLogRatio, shareOfTokens } from './policy-loss.ts';

/**
 * CISPO (MiniMax-M1, 2025): L = −sg(clip(ρ, 1 − lo, 1 + hi))·A·log π. The clip bounds the weight of a token and never silences
 * it; the gradient is −clip(ρ)·A.
 */
export const cispoPolicyLoss = definePolicyLoss({
  name: 'cispo',
  revision: '1',
  options: { clipLow: numberOption(0.2, 0, 1), clipHigh: numberOption(0.2, 0, 1_000) },
  tokenLoss:
    (input, { clipLow, clipHigh }) =>
    (row, t) => {
      const weight = clamp(Math.exp(logRatio(input, row, t, LOG_RATIO_BOUND).d), 1 - clipLow, 1 + clipHigh);
      const slope = -weight * at(rowAt(input.advantages, row), t);
      return { loss: slope * at(rowAt(input.logProbs, row), t), slope };
    },
  metrics(input, _losses, { clipLow, clipHigh }) {
    const clipFraction = shareOfTokens(input.masks, (row, t) => {
      const ratio = Math.exp(logRatio(input, row, t, LOG_RATIO_BOUND).d);
      return ratio !== clamp(ratio, 1 - clipLow, 1 + clipHigh);
    });
    return { clipFraction, oldKl: meanNegativeLogRatio(input, LOG_RATIO_BOUND) };
  },
});
