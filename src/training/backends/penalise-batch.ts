import { adjustController, type KlController } from '../../domain/training/kl/kl-controller.ts';
import { penaliseRewards } from '../../domain/training/kl/penalise-rewards.ts';
import type { Rows } from '../../domain/training/rows/rows.ts';
import type { TrainingSettings } from './training-settings.ts';

export interface PenalisedBatch {
  readonly rewards: Rows;
  /** The coefficient that the next update begins with; null where it is fixed: then the settings say it. */
  readonly nextCoefficient: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Whether the rewards of a batch depend on the weights: a KL penalty is taken from them. */
export function penalisesRewards({ kl }: Pick<TrainingSettings, 'kl'>): boolean {
  return kl?.in === 'reward';
}

/**
 * Takes the KL penalty from the token rewards of a batch, with the coefficient from before it, and moves that where it is
 * adaptive. @param coefficient the one that the update before left behind; null: the one of the settings. @param refLogProbs of
 * version 0, like the others 0 on no token: all tokens of the rows were sampled.
 */
export function penaliseBatch(
  columns: { readonly scores: Rows; readonly logProbs: Rows; readonly refLogProbs: Rows },
  kl: NonNullable<TrainingSettings['kl']>,
  coefficient: number | null,
): PenalisedBatch {
  const masks = columns.scores.map((row) => new Uint8Array(row.length).fill(1));
  const beta = coefficient ?? kl.coefficient;
  const { rewards, currentKl } = penaliseRewards({ ...columns, masks }, kl.kind, beta, kl.logRatios);
  const controller: KlController = kl.controller ? { ...kl.controller, beta } : { kind: 'fixed', beta };
  return {
    rewards,
    nextCoefficient: kl.controller ? adjustController(controller, currentKl, masks.length).beta : null,
    metrics: { rewardKl: currentKl, klCoefficient: beta },
  };
}
