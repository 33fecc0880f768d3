import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { maskedSum } from '../statistics/masked.ts';
import { sumOf } from '../statistics/sum.ts';

/**
 * Sums the token rewards of each row: over all its tokens (verl), or over the trained ones only (Agent-R1 legacy). A reward that
 * is on a tool's token counts in the first and is lost in the second; the two can even rank a group the other way round.
 */
export function scoreRows(rewards: Rows, masks: Masks, over: 'all-tokens' | 'trained-tokens'): Float64Array {
  return Float64Array.from(rewards, (row, i) => (over === 'all-tokens' ? sumOf(row) : maskedSum([row], [rowAt(masks, i)])));
}

/** Returns for every row the sum of the scores of its trajectory's rows. Source: Agent-R1 v0.1. */
export function sumTrajectories(scores: ArrayLike<number>, trajectories: readonly string[]): Map<string, number> {
  const parts = new Map<string, number[]>();
  for (const [row, trajectory] of trajectories.entries()) {
    const found = parts.get(trajectory) ?? [];
    found.push(at(scores, row));
    parts.set(trajectory, found);
  }
  return new Map([...parts].map(([trajectory, own]) => [trajectory, sumOf(own)]));
}
