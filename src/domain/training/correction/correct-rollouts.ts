import type { Rows } from '../rows/rows.ts';
import { type ImportanceOptions, importanceWeights, type RolloutLogProbs } from './importance-weights.ts';
import { type RejectionRule, rejectDrifted } from './rejection.ts';

export interface RolloutCorrection {
  readonly weights: ImportanceOptions | null;
  readonly rejection: readonly RejectionRule[];
}

export interface CorrectedRollouts {
  /** The tokens that are trained on. */
  readonly masks: readonly Uint8Array[];
  /** What multiplies the token losses; null without weights. */
  readonly weights: Rows | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Corrects an update for tokens that were drawn by other log-probs than the trainer's: weights of all tokens first, then the
 * tokens that are left out, as verl 0.8 does both. Advantages are estimated before anything is left out: they say what happened,
 * and a group keeps its members.
 */
export function correctRollouts(input: RolloutLogProbs, { weights, rejection }: RolloutCorrection): CorrectedRollouts {
  const weighed = weights === null ? null : importanceWeights(input, weights);
  const rejected = rejection.length === 0 ? null : rejectDrifted(input, rejection);
  return {
    masks: rejected?.masks ?? input.masks,
    weights: weighed?.weights ?? null,
    metrics: {
      ...(weighed && { rolloutSampleShare: weighed.effectiveSampleShare, rolloutCutShare: weighed.cutShare }),
      ...(rejected && { rolloutRejectedTokens: rejected.rejectedTokens, rolloutRejectedRows: rejected.rejectedRows }),
    },
  };
}
