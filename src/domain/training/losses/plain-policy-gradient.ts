import { at, rowAt } from '../rows/rows.ts';
import { definePolicyLoss, LOG_RATIO_BOUND, meanNegativeLogRatio } from './policy-loss.ts';

/** The policy gradient without a ratio: L = −A·log π (GPG, Chu et al. 2025; with A = 1 behaviour cloning). */
export const plainPolicyLoss = definePolicyLoss({
  name: 'gpg',
  revision: '1',
  options: {},
  tokenLoss: ({ logProbs, advantages }) => {
    return (row, t) => {
      const slope = -at(rowAt(advantages, row), t);
      return { loss: slope * at(rowAt(logProbs, row), t), slope };
    };
  },
  metrics: (input) => ({ oldKl: meanNegativeLogRatio(input, LOG_RATIO_BOUND) }),
});
