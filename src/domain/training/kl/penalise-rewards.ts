import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { maskedRowMeans } from '../statistics/masked.ts';
import { sumOf } from '../statistics/sum.ts';
import { type KlKind, type KlLogRatios, tokenKl } from './kl-penalty.ts';

export interface PenalisedRewards {
  /** score − β·KL·m for each token. */
  readonly rewards: Rows;
  /** The mean over rows of their masked means: what the controller is adjusted with. */
  readonly currentKl: number;
}

/** Takes the KL penalty from the token scores (verl `apply_kl_penalty`). @param beta the coefficient from before this batch. */
export function penaliseRewards(
  {
    scores,
    logProbs,
    refLogProbs,
    masks,
  }: {
    readonly scores: Rows;
    readonly logProbs: Rows;
    readonly refLogProbs: Rows;
    readonly masks: Masks;
  },
  kind: KlKind,
  beta: number,
  logRatios: KlLogRatios = 'clamped',
): PenalisedRewards {
  const kl = buildRows(masks, (row, t, m) => {
    return m === 0 ? 0 : tokenKl(kind, at(rowAt(logProbs, row), t), at(rowAt(refLogProbs, row), t), logRatios).value;
  });
  const rewards = buildRows(masks, (row, t) => at(rowAt(scores, row), t) - beta * at(rowAt(kl, row), t));
  return { rewards, currentKl: masks.length === 0 ? 0 : sumOf(maskedRowMeans(kl, masks)) / masks.length };
}
