import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { type Aggregation, aggregate, aggregationWeights, clamp, shareOfTokens } from './policy-loss.ts';

export interface ValueLossInput {
  /** What the critic says now. */
  readonly predictions: Rows;
  /** What it said at the start of the update. */
  readonly values: Rows;
  readonly returns: Rows;
  readonly masks: Masks;
}

export interface ValueLossOptions {
  /** How far a prediction may move from the old value before it stops counting; 0.5 upstream. */
  readonly clip: number;
  /** ½, or 1 as in verl 0.4.0 and AgentOCR's snapshot of it. */
  readonly factor: number;
}

export interface ValueLoss {
  readonly loss: number;
  /** d loss / d prediction of each token. */
  readonly gradient: Rows;
  readonly clipFraction: number;
}

/**
 * ½·mean(max((v − R)², (p − R)²)) with p = clip(v, old − c, old + c) (Schulman's PPO2; verl `compute_value_loss`). Where the
 * clipped term is the larger one, v has left the interval: the slope is 0, otherwise 2·factor·(v − R).
 */
export function valueLoss(input: ValueLossInput, { clip, factor }: ValueLossOptions, aggregation: Aggregation): ValueLoss {
  const terms = (row: number, t: number) => {
    const v = at(rowAt(input.predictions, row), t);
    const old = at(rowAt(input.values, row), t);
    const target = at(rowAt(input.returns, row), t);
    return { error: v - target, free: (v - target) ** 2, held: (clamp(v, old - clip, old + clip) - target) ** 2 };
  };
  const shares = aggregationWeights(input.masks, aggregation);
  const losses = buildRows(input.masks, (row, t) => {
    const { free, held } = terms(row, t);
    return factor * Math.max(free, held);
  });
  const gradient = buildRows(input.masks, (row, t, m) => {
    const { error, free, held } = terms(row, t);
    return m === 0 || held > free ? 0 : at(rowAt(shares, row), t) * 2 * factor * error;
  });
  const clipFraction = shareOfTokens(input.masks, (row, t) => {
    const { free, held } = terms(row, t);
    return held > free;
  });
  return { loss: aggregate(losses, shares), gradient, clipFraction };
}
