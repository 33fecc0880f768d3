import { at, type Rows, rowAt } from '../rows/rows.ts';
import { startSum } from '../statistics/masked.ts';

/** Where one row's tool calls ended, and what the environment gave for each. */
export interface ToolRewards {
  /** The token index of each closing tool-call tag, in order of the text. */
  readonly callEnds: readonly number[];
  readonly rewards: readonly number[];
}

/**
 * Puts the k-th reward of a row on the token that closes its k-th call (Agent-R1, March 2025). Calls without a reward, rewards
 * without a call and ends outside the row are ignored, as published; `lengths` are the valid response lengths.
 */
export function placeToolRewards(rows: readonly ToolRewards[], lengths: ArrayLike<number>): Float64Array[] {
  return rows.map(({ callEnds, rewards }, row) => {
    const placed = new Float64Array(at(lengths, row));
    for (const [k, end] of callEnds.entries()) {
      const reward = rewards[k];
      if (reward !== undefined && end < placed.length) placed[end] = at(placed, end) + reward;
    }
    return placed;
  });
}

/**
 * Divides process rewards by (the largest |reverse cumulative sum| in the whole batch + 1e-6). The scale of every row depends on
 * the most-called row of its batch: an update must record which batch that was. Source: PRIME's normalisation in Agent-R1, March
 * 2025.
 */
export function normaliseOverBatch(processRewards: Rows): Float64Array[] {
  let largest = 0;
  for (const row of processRewards) {
    const sum = startSum();
    for (const reward of row.toReversed()) {
      sum.add(reward);
      largest = Math.max(largest, Math.abs(sum.total()));
    }
  }
  return processRewards.map((row) => row.map((reward) => reward / (largest + 1e-6)));
}

/** Adds process rewards to outcome rewards, token by token: the two are stored apart and meet only here. */
export function addRewards(outcome: Rows, process: Rows): Float64Array[] {
  return outcome.map((row, i) => row.map((reward, t) => reward + at(rowAt(process, i), t)));
}
