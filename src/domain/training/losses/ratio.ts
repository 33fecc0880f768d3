import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { maskedMean } from '../statistics/masked.ts';
import type { PolicyLossInput } from './policy-loss.ts';

/** verl ≥ 0.4.1 clamps differences of log-probs to ±20 before it exponentiates them. */
export const LOG_RATIO_BOUND = 20;

export function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** new − old log-prob of a token, clamped or not (verl ≤ 0.4.0). Where the clamp holds it the slope is 0. */
export function logRatio(
  { logProbs, oldLogProbs }: Pick<PolicyLossInput, 'logProbs' | 'oldLogProbs'>,
  row: number,
  t: number,
  bound: number,
): { readonly d: number; readonly slope: number } {
  const raw = at(rowAt(logProbs, row), t) - at(rowAt(oldLogProbs, row), t);
  return { d: clamp(raw, -bound, bound), slope: Math.abs(raw) <= bound ? 1 : 0 };
}

/** Averages 1 over the trained tokens of which something is true. */
export function shareOfTokens(masks: Masks, is: (row: number, t: number) => boolean): number {
  return maskedMean(
    buildRows(masks, (row, t) => (is(row, t) ? 1 : 0)),
    masks,
  );
}

/** mean(−d) over the trained tokens: the k1 estimate of KL(old ‖ new). */
export function meanNegativeLogRatio(input: PolicyLossInput, bound: number): number {
  const negative: Rows = buildRows(input.masks, (row, t) => -logRatio(input, row, t, bound).d);
  return maskedMean(negative, input.masks);
}
