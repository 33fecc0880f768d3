import { createRandom } from '../../../domain/random/random.ts';
import { planMicroBatches } from '../../../domain/training/batching/micro-batches.ts';
import type { Refused } from '../../../domain/training/options.ts';

/** Optimiser steps; each is made of micro-batches of row positions. */
export type MiniBatches = readonly (readonly (readonly number[])[])[];

/**
 * Plans the steps of all epochs: whole trajectories, in a seeded order of its own for each epoch, `size` of them a step; the rows
 * of a step are cut to what fits into memory. Refuses a row that fits nowhere.
 */
export function planMiniBatches(
  trajectories: readonly string[],
  lengths: readonly number[],
  {
    epochs,
    size,
    tokenBudget,
    seed,
  }: { readonly epochs: number; readonly size: number; readonly tokenBudget: number; readonly seed: number },
): { readonly kind: 'planned'; readonly miniBatches: MiniBatches } | Refused {
  const rowsOf = new Map<string, number[]>();
  for (const [row, trajectory] of trajectories.entries()) rowsOf.set(trajectory, [...(rowsOf.get(trajectory) ?? []), row]);
  const miniBatches: (readonly (readonly number[])[])[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    const order = createRandom(seed)
      .fork(epoch)
      .shuffle([...rowsOf.keys()]);
    for (let from = 0; from < order.length; from += size) {
      const rows = order.slice(from, from + size).flatMap((trajectory) => rowsOf.get(trajectory) ?? []);
      const cut = planMicroBatches(
        rows.map((row) => lengths[row] ?? 0),
        tokenBudget,
      );
      if (cut.kind === 'refused') return cut;
      miniBatches.push(cut.batches.map((places) => places.map((place) => rows[place] ?? 0)));
    }
  }
  return { kind: 'planned', miniBatches };
}
