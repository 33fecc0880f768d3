import { numberOption } from '../method-options.ts';
import { at, countTrained, type Masks, rowAt } from '../rows/rows.ts';
import { startSum } from '../statistics/masked.ts';
import { clippedTokenLoss } from './clipped.ts';
import {
  clamp,
  definePolicyLoss,
  LOG_RATIO_BOUND,
  logRatio,
  meanNegativeLogRatio,
  type PolicyLossInput,
  shareOfTokens,
} from './policy-loss.ts';

const LOG_SEQUENCE_RATIO_BOUND = 10;

/**
 * GSPO (Zheng et al. 2025): the clipped objective with one ratio for the whole response, ρ_seq = exp(min(Σ d·m / max(Σ m, 1),
 * 10)). Always aggregated as seq-mean-token-mean, without a dual clip. The gradient flows through each token's own log-prob with
 * the factor ρ_seq (the published stop-gradient form), which equals the gradient of ρ_seq itself when a row has one advantage.
 */
export const gspoPolicyLoss = definePolicyLoss({
  name: 'gspo',
  revision: '1',
  options: { clipLow: numberOption(3e-4, 0, 1), clipHigh: numberOption(4e-4, 0, 1_000) },
  aggregation: (asked) => ({ ...asked, mode: 'seq-mean-token-mean' }),
  tokenLoss(input, options) {
    const logs = logSequenceRatios(input, input.masks);
    return (row, t) => {
      const log = at(logs, row);
      const ratio = Math.exp(Math.min(log, LOG_SEQUENCE_RATIO_BOUND));
      return clippedTokenLoss(ratio, log <= LOG_SEQUENCE_RATIO_BOUND ? ratio : 0, at(rowAt(input.advantages, row), t), options);
    };
  },
  metrics(input, _losses, { clipLow, clipHigh }) {
    const ratios = sequenceRatios(input);
    const clipFraction = shareOfTokens(input.masks, (row, t) => {
      const [ratio, advantage] = [at(ratios, row), at(rowAt(input.advantages, row), t)];
      return -advantage * clamp(ratio, 1 - clipLow, 1 + clipHigh) > -advantage * ratio;
    });
    return { clipFraction, oldKl: meanNegativeLogRatio(input, LOG_RATIO_BOUND) };
  },
});

/** ρ_seq of each row: the geometric mean of its trained tokens' ratios; 1 for a row without one. */
export function sequenceRatios(input: Pick<PolicyLossInput, 'logProbs' | 'oldLogProbs' | 'masks'>): Float64Array {
  return logSequenceRatios(input, input.masks).map((log) => Math.exp(Math.min(log, LOG_SEQUENCE_RATIO_BOUND)));
}

function logSequenceRatios(input: Pick<PolicyLossInput, 'logProbs' | 'oldLogProbs'>, masks: Masks): Float64Array {
  return Float64Array.from(masks, (mask, row) => {
    const sum = startSum();
    for (const [t, m] of mask.entries()) if (m === 1) sum.add(logRatio(input, row, t, Number.POSITIVE_INFINITY).d);
    return sum.total() / Math.max(countTrained(mask), 1);
  });
}
