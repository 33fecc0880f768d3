import type { ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import type { Refused } from '../../../domain/training/options.ts';
import { estimatorBatch, type TokenReadings } from '../estimator-batch.ts';
import type { TokenRow } from './token-rows.ts';

/** Asks an estimator for the advantages of sampled tokens: a row for each step. */
export function estimateTokens(
  estimator: ConfiguredEstimator,
  rows: readonly Pick<TokenRow, 'row' | 'ids'>[],
  readings: TokenReadings,
): Estimated | Refused {
  return estimator.estimate(
    estimatorBatch(
      estimator.readiness,
      rows.map(({ row }) => row),
      readings,
    ),
  );
}
