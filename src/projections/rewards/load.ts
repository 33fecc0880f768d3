import type { Delivery } from '../../events/envelope.ts';
import { copyNew, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { type Load, LoadEnds } from '../projection.ts';
import { foldLoad, type LoadRows } from './fold-load.ts';
import type { LoadedTree } from './loaded-tree.ts';
import { tables } from './tables.ts';

const STEPS_KEPT = 2_000_000; // some 200 bytes each; above it the trees that were quiet longest are forgotten

/** Loads rewards: each tree is kept in memory, so that returns are summed without reading paths from the tables. */
export function rewardsLoad(stepsKept = STEPS_KEPT): Load {
  return { deferred: ['reward_edges_pkey'], open };

  function open(): ReturnType<Load['open']> {
    const trees = new Map<string, LoadedTree>(); // in the order in which they were last spoken of
    const forgotten = new Set<string>();
    let steps = 0;
    return async (batch, trx) => {
      for (const delivery of batch)
        if (forgotten.has(treeOf(delivery)))
          throw new LoadEnds(`tree ${treeOf(delivery)} came again long after all that was recorded of it`);
      const { rows, poison } = foldLoad(batch, trees);
      await write(rows, trx);
      steps += rows.edges.length;
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
      return poison;
    };
  }
}

function treeOf({ event }: Delivery): string {
  return (event.data as { treeId: string }).treeId; // every type that this projection handles names its tree
}

async function write({ trees, edges, rewards, revisions, latest, returns, changed }: LoadRows, trx: Trx): Promise<void> {
  await copyNew(trx, tables.reward_trees, trees);
  await copyNew(trx, tables.reward_edges, edges);
  await copyNew(trx, tables.rewards, rewards);
  await copyNew(trx, tables.reward_revisions, revisions);
  await updateRows(trx, tables.rewards, latest);
  await copyNew(trx, tables.returns, returns);
  await updateRows(trx, tables.returns, changed);
}
