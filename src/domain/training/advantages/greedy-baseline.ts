import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { tokenReturns } from './discounted-returns.ts';

/**
 * ReMax (Li et al. 2024): returns are the reverse cumulative sum of r·m, A = returns − b·m, where b is the score of one greedy rollout of the same prompt.
 * A tool's token repeats the return of what follows it and has no baseline, as in verl.
 */
export function greedyBaseline(
  rewards: Rows,
  masks: Masks,
  greedyScores: ArrayLike<number>,
): { readonly advantages: Float64Array[]; readonly returns: Float64Array[] } {
  const returns = tokenReturns(rewards, masks, 1, 'repaired');
  const advantages = returns.map((row, i) => row.map((value, t) => value - at(greedyScores, i) * at(rowAt(masks, i), t)));
  return { advantages, returns };
}
