import { numberOption } from '../method-options.ts';
import { at, rowAt } from '../rows/rows.ts';
import { definePolicyLoss, LOG_RATIO_BOUND, logRatio, meanNegativeLogRatio } from './policy-loss.ts';

/**
 * SAPO (Gao et al. 2025): a soft gate in place of the clip, L = −A·(4/τ)·σ(τ(ρ − 1)), τ by the sign of A. With g = σ(τ(ρ − 1))
 * the slope is −A·4·g(1 − g)·ρ, which is −A at ρ = 1. A loss of sequences: the mean over their means, as the paper, verl and TRL
 * have it.
 */
export const sapoPolicyLoss = definePolicyLoss({
  name: 'sapo',
  revision: '2',
  aggregation: (asked) => ({ ...asked, mode: 'seq-mean-token-mean' }),
  options: { tauPositive: numberOption(1, 1e-6, 1_000), tauNegative: numberOption(1.05, 1e-6, 1_000) },
  tokenLoss:
    (input, { tauPositive, tauNegative }) =>
    (row, t) => {
      const advantage = at(rowAt(input.advantages, row), t);
      const { d, slope } = logRatio(input, row, t, LOG_RATIO_BOUND);
      const ratio = Math.exp(d);
      const tau = advantage > 0 ? tauPositive : tauNegative;
      const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)));
      return { loss: (-advantage * 4 * gate) / tau, slope: -advantage * 4 * gate * (1 - gate) * ratio * slope };
    },
  metrics: (input) => ({ oldKl: meanNegativeLogRatio(input, LOG_RATIO_BOUND) }),
});
