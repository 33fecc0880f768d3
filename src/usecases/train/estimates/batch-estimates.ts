import type { Method } from '../../../events/schemas/training.ts';
import type { BatchReward } from '../../../training/rows/batch-rows.ts';
import type { Grain } from './recompute-advantages.ts';

/** Which rewards: those in force now, or those that the batch was trained on. */
export type RewardsOf = 'now' | 'trained';

/** What an estimator sees of a batch, and what it makes of it. Computed when it is asked for; nothing of it is stored. */
export interface BatchEstimates {
  readonly batchId: string;
  /**
   * By name, revision and mode, as the update recorded it, or the plan before there is one; null where no advantage is estimated.
   */
  readonly method: Method | null;
  /** Null without advantages. */
  readonly grain: Grain | null;
  /** Why there are no advantages; null where there are. */
  readonly reason: string | null;
  /** The position in the log of the rewards. */
  readonly rewardsAt: string;
  /** Whether all of this that the update recorded too is the same there; null where it recorded nothing of it. */
  readonly agrees: boolean | null;
  /** In the order of the batch. */
  readonly samples: readonly SampleEstimate[];
}

export interface SampleEstimate {
  readonly batchId: string;
  readonly rolloutId: string;
  readonly treeId: string;
  readonly place: number;
  /** All rewards of its own steps and of it as a whole. */
  readonly return: number;
  /** On the whole rollout. */
  readonly rewards: readonly BatchReward[];
  /** The mean over what was trained of it; null without advantages. */
  readonly advantage: number | null;
  /** Versions between its oldest span and the version that the batch was planned on; null where no span is recorded. */
  readonly staleness: number | null;
  readonly steps: readonly StepEstimate[];
}

export interface StepEstimate {
  readonly batchId: string;
  readonly stepId: string;
  readonly treeId: string;
  /** The step's place in its rollout, from 0. */
  readonly number: number;
  /** Of the step; the sum that the estimator sees also holds, on the last one, those of the whole rollout. */
  readonly rewards: readonly BatchReward[];
  readonly reward: number;
  /** Hash of the state before it. */
  readonly anchor: string | null;
  /**
   * Tokens recorded with it, and those of them that a policy sampled: the ones of its loss mask. Null where none are recorded.
   */
  readonly tokenCount: number | null;
  readonly maskLength: number | null;
  /** Where the tokens of its mask begin among those of its sample, and the sample's place. */
  readonly sampled: { readonly sample: number; readonly from: number };
  /** Sum of the recorded log-probs over the mask; null where none are recorded. */
  readonly logProb: number | null;
  readonly staleness: number | null;
  readonly value: number | null;
  readonly bootstrap: number | null;
  /** What the estimator would have the critic learn: of the first token. */
  readonly target: number | null;
  /** The mean over the tokens of the mask. */
  readonly advantage: number | null;
  /** One for each token of the mask; null where they are all `advantage`. */
  readonly tokenAdvantages: readonly number[] | null;
}
