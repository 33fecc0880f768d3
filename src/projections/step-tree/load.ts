import type { Delivery } from '../../events/envelope.ts';
import { copyNew } from '../../postgres/bulk.ts';
import { type Load, LoadEnds } from '../projection.ts';
import { foldBatch } from './fold-batch.ts';
import type { Known } from './known.ts';
import { summingAll } from './sum-trees.ts';
import { writeRows } from './write-rows.ts';

// Steps in memory, some 200 bytes each. Above the first figure, and whenever their number has doubled, closed trees are
// forgotten.
const FORGET_ABOVE = 500_000;
const STEPS_MOST = 4_000_000;

/**
 * Loads trees without looking up what is there: all that it wrote it knows, but for trees that were closed and are forgotten.
 * When one of those grows again, only the tables can say what fits it, and the load ends.
 */
export function loadTrees({ forgetAbove: least, most } = { forgetAbove: FORGET_ABOVE, most: STEPS_MOST }): Load {
  return { deferred: ['steps_pkey'], afterwards: summingAll, open };

  function open(): ReturnType<Load['open']> {
    const known: Known = { trees: new Map(), steps: new Map(), rollouts: new Map(), ended: new Set(), closed: new Set() };
    const forgotten = new Set<string>();
    let forgetAbove = least;
    return async (batch, trx) => {
      for (const delivery of batch)
        if (forgotten.has(treeOf(delivery))) throw new LoadEnds(`tree ${treeOf(delivery)} grew again long after it was closed`);
      const { rows, poison } = foldBatch(batch, known);
      await writeRows(rows, trx, copyNew);
      if (known.steps.size > forgetAbove) {
        forgetClosed(known, forgotten);
        if (known.steps.size > most) throw new LoadEnds(`trees of ${known.steps.size} steps are open at once`);
        forgetAbove = Math.max(least, 2 * known.steps.size);
      }
      return poison;
    };
  }
}

/** The tree that an event belongs to. */
export function treeOf({ event }: Delivery): string {
  return (event.data as { treeId: string }).treeId; // every type that this projection handles names its tree
}

function forgetClosed({ trees, steps, rollouts, ended, closed }: Known, forgotten: Set<string>): void {
  for (const [stepId, { treeId }] of steps) if (closed.has(treeId)) steps.delete(stepId);
  for (const [rolloutId, { treeId }] of rollouts) {
    if (!closed.has(treeId)) continue;
    rollouts.delete(rolloutId);
    ended.delete(rolloutId);
  }
  for (const treeId of closed) {
    trees.delete(treeId);
    forgotten.add(treeId);
  }
  closed.clear();
}
