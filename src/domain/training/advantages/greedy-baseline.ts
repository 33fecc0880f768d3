import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { tokenReturns } from './discounted-returns.ts';
import type { StepOrder } from './step-gae.ts';

/**
 * ReMax (Li et al. 2024): returns are the reverse cumulative sum of r·m, A = returns − b·m, where b is the score of one greedy
 * rollout of the same prompt. A tool's token repeats the return of what follows it and has no baseline, as in verl.
 * @param order where rows are steps of one episode; null where each row is one.
 */
export function greedyBaseline(
  rewards: Rows,
  masks: Masks,
  greedyScores: ArrayLike<number>,
  order: StepOrder | null,
): { readonly advantages: Float64Array[]; readonly returns: Float64Array[] } {
  const returns = tokenReturns(rewards, masks, 1, 'repaired', order);
  const advantages = returns.map((row, i) => row.map((value, t) => value - at(greedyScores, i) * at(rowAt(masks, i), t)));
  return { advantages, returns };
}
