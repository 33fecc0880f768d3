import { addToRows, copyNew, insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree } from '../of-tree.ts';
import type { TreeRows } from './fold-batch.ts';
import { tables } from './tables.ts';

/**
 * Writes the rows. What begins and ends in one batch is written once, whole: an update would write its row and its index entries
 * again. The fold knows trees, steps and rollouts to be new; of tool calls and divergences it knows nothing, and those that are
 * there are skipped.
 */
export async function writeRows(rows: TreeRows, trx: Trx): Promise<void> {
  const trees = joinEnds(rows.trees, rows.closed, ({ treeId }) => treeId);
  const rollouts = joinEnds(rows.rollouts, rows.ends, ({ treeId, rolloutId }) => keyInTree(treeId, rolloutId));
  const revisions = joinEnds(rows.revisions, rows.outcomes, ({ treeId, revisionId }) => keyInTree(treeId, revisionId));
  await sideBySide(
    () => copyNew(trx, tables.trees, trees.whole),
    () => copyNew(trx, tables.steps, rows.steps),
    () => copyNew(trx, tables.rollouts, rollouts.whole),
    () => updateRows(trx, tables.rollouts, rollouts.later, 'finishedAt'),
    () => updateRows(trx, tables.trees, trees.later, 'closedAt'),
    () => insertRows(trx, tables.toolCalls, rows.toolCalls),
    () => insertRows(trx, tables.divergences, rows.divergences),
    () => insertRows(trx, tables.judgements, rows.judgements),
    () => insertRows(trx, tables.revisions, revisions.whole),
    () => updateRows(trx, tables.revisions, revisions.later, 'checkedAt'),
    () => addToRows(trx, tables.runCounts, rows.counts.rows()),
  );
}

/** Joins each beginning of a batch with its end, where the batch holds both; `later` are the ends of what began before. */
function joinEnds<Begin, End>(
  begins: readonly Begin[],
  ends: readonly End[],
  keyOf: (row: Begin | End) => string,
): { readonly whole: readonly (Begin & Partial<End>)[]; readonly later: readonly End[] } {
  const endOf = new Map(ends.map((end) => [keyOf(end), end]));
  const whole = begins.map((begin) => {
    const key = keyOf(begin);
    const end = endOf.get(key);
    endOf.delete(key);
    return { ...begin, ...end };
  });
  return { whole, later: [...endOf.values()] };
}
