import { type Refused, refused } from '../options.ts';
import { at } from '../rows/rows.ts';
import { sumOf } from '../statistics/sum.ts';
import { balancePartition } from './balance.ts';
import { rowWorkload } from './workload.ts';

export interface MicroBatches {
  readonly kind: 'planned';
  /** Row positions of each micro-batch, ascending; every row in exactly one, none empty. */
  readonly batches: readonly (readonly number[])[];
}

/**
 * Cuts rows into micro-batches of at most `tokenBudget` tokens: ⌈Σ tokens / budget⌉ of them, balanced by workload (verl).
 * Balanced work is not balanced length, so a batch can still be over the budget; then one more is opened until all fit, which
 * verl leaves to run out of memory. Refuses a row that is longer than the budget alone. @param lengths tokens of each row, prompt
 * included.
 */
export function planMicroBatches(lengths: ArrayLike<number>, tokenBudget: number): MicroBatches | Refused {
  const all = Array.from(lengths);
  if (all.length === 0) return { kind: 'planned', batches: [] };
  const longest = all.findIndex((length) => length > tokenBudget);
  if (longest !== -1) return refused(`row ${longest} has ${at(all, longest)} tokens, more than the budget of ${tokenBudget}`);
  const workloads = all.map(rowWorkload);
  const first = Math.min(all.length, Math.max(1, Math.ceil(sumOf(all) / tokenBudget)));
  for (let count = first; count < all.length; count++) {
    const batches = balancePartition(workloads, count, 'free').filter((rows) => rows.length > 0);
    if (batches.every((rows) => sumOf(rows.map((row) => at(all, row))) <= tokenBudget)) return { kind: 'planned', batches };
  }
  return { kind: 'planned', batches: all.map((_, row) => [row]) };
}
