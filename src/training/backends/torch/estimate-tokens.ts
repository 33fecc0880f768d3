import type { ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import type { Refused } from '../../../domain/training/options.ts';
import type { Rows } from '../../../domain/training/rows/rows.ts';
import type { TokenRow } from './token-rows.ts';

/** What the model says of the sampled tokens at the start of an update. */
export interface TokenReadings {
  /** Null where nobody asked the model. */
  readonly logProbs: Rows | null;
  /** The critic's value before each token; null without one. */
  readonly values: Rows | null;
  /** V of the state after a row that a limit cut off, 0 elsewhere; null without a critic. */
  readonly bootstraps: Float64Array | null;
}

/** Asks an estimator for the advantages of sampled tokens: a row for each step, its reward on its last token. */
export function estimateTokens(
  estimator: ConfiguredEstimator,
  rows: readonly Pick<TokenRow, 'row' | 'ids'>[],
  readings: TokenReadings,
): Estimated | Refused {
  const anchors = rows.map(({ row }) => row.stateHash);
  return estimator.estimate({
    rewards: rows.map(({ row, ids }) => {
      const rewards = new Float64Array(ids.length);
      rewards[ids.length - 1] = row.reward;
      return rewards;
    }),
    masks: rows.map(({ ids }) => new Uint8Array(ids.length).fill(1)),
    groups: rows.map(({ row }) => row.groupId),
    trajectories: rows.map(({ row }) => row.rolloutId),
    steps: rows.map(({ row }) => row.step),
    values: readings.values,
    bootstraps: readings.bootstraps,
    anchors: anchors.every((hash) => hash !== null) ? anchors : null,
    stepRewards: null,
    greedyScores: null,
    oldLogProbs: readings.logProbs,
    squaredProbs: null, // the whole distribution of every token would have to cross the wire
    rolloutWeights: null,
  });
}
