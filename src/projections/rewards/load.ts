import type { Delivery } from '../../events/envelope.ts';
import { copyNew, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { type Load, LoadEnds } from '../projection.ts';
import { countReturns, partitionsIn, type SummedReturn } from './count-returns.ts';
import { type Folded, foldBatch } from './fold-batch.ts';
import { knownTrees, type LoadedTree } from './loaded-trees.ts';
import type { FinishedRollout } from './returns.ts';
import { latestRows, revisionRow, rewardRow } from './rows.ts';
import { sumReturn } from './sum-return.ts';
import { tables } from './tables.ts';

const STEPS_KEPT = 2_000_000; // some 200 bytes each; above it the trees that were quiet longest are forgotten

/** Loads rewards: each tree is kept in memory, so that returns are summed without reading paths from the tables. */
export function rewardsLoad(stepsKept = STEPS_KEPT): Load {
  return { deferred: ['reward_edges_pkey'], open };

  function open(): ReturnType<Load['open']> {
    const trees = new Map<string, LoadedTree>(); // in the order in which they were last spoken of
    const known = knownTrees(trees);
    const forgotten = new Set<string>();
    let steps = 0;
    return async (batch, trx) => {
      for (const delivery of batch)
        if (forgotten.has(treeOf(delivery)))
          throw new LoadEnds(`tree ${treeOf(delivery)} came again long after all that was recorded of it`);
      const folded = foldBatch(batch, known);
      const sums = sumTouched(folded, trees);
      await write(folded, sums, trx);
      await countReturns([...sums.fresh, ...sums.changed], partitionsIn(batch), trx);
      steps += folded.edges.length;
      for (const treeId of new Set(batch.map(treeOf))) {
        const tree = trees.get(treeId);
        if (tree && trees.delete(treeId)) trees.set(treeId, tree);
      }
      for (const [treeId, tree] of trees) {
        if (steps <= stepsKept) break;
        trees.delete(treeId);
        forgotten.add(treeId);
        steps -= tree.parents.size;
      }
      return folded.poison;
    };
  }
}

function treeOf({ event }: Delivery): string {
  return (event.data as { treeId: string }).treeId; // every type that this projection handles names its tree
}

async function write({ trees, edges, assigned, revised }: Folded, { fresh, changed }: Sums, trx: Trx): Promise<void> {
  await copyNew(trx, tables.rewardTrees, trees);
  await copyNew(trx, tables.rewardEdges, edges);
  await copyNew(trx, tables.rewards, assigned.map(rewardRow));
  await copyNew(trx, tables.rewardRevisions, revised.map(revisionRow));
  await updateRows(trx, tables.rewards, latestRows(revised));
  await copyNew(trx, tables.returns, fresh);
  const values = changed.map(({ rolloutId, value }) => ({ rolloutId, value }));
  await updateRows(trx, tables.returns, values);
}

interface Sums {
  readonly fresh: (FinishedRollout & SummedReturn)[];
  readonly changed: ({ readonly rolloutId: string } & SummedReturn)[];
}

/** Sums the returns of the trees that a batch touched: those that are not written yet are fresh, others may have changed. */
function sumTouched({ assigned, revised, finished }: Folded, trees: ReadonlyMap<string, LoadedTree>): Sums {
  const rewarded = [...assigned, ...revised.map(({ event }) => event)].map(({ data }) => data.treeId);
  const sums: Sums = { fresh: [], changed: [] };
  for (const treeId of new Set([...rewarded, ...finished.map(({ treeId }) => treeId)])) {
    const tree = trees.get(treeId);
    if (!tree) continue;
    for (const [rolloutId, { leafStepId, value: written }] of tree.finished) {
      const value = sumReturn(tree, rolloutId, leafStepId);
      if (value === written) continue;
      tree.finished.set(rolloutId, { leafStepId, value });
      const summed = { rolloutId, treeId, runId: tree.runId, written, value };
      if (written !== null) sums.changed.push(summed);
      else sums.fresh.push({ ...summed, leafStepId });
    }
  }
  return sums;
}
