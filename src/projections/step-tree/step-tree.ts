import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { addToRows, copyNew, insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree } from '../of-tree.ts';
import type { Poison, Projection } from '../projection.ts';
import { foldBatch, type TreeRows } from './fold-batch.ts';
import { loadTreeState } from './load-tree-state.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = [
  'TreeOpened',
  'RolloutStarted',
  'StepTaken',
  'ToolCalled',
  'ReplayDiverged',
  'RolloutFinished',
  'TreeClosed',
  'StepJudged',
  'RevisionComposed',
  'RevisionVerified',
  'RevisionRejected',
];

/**
 * Folds trees as adjacency lists, and what is mined from them. Its invariants: a step hangs on a step of its own tree, one level
 * below it; a rollout starts at a step of its tree and ends once, at a step that it took or began at; a revision is made of paths of its tree; nothing belongs to a
 * tree that was never opened. What breaks one goes to quarantine, with its descendants.
 */
export const stepTree: Projection = { name: 'step-tree', version: 3, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const treeState = await loadTreeState(batch, trx);
  const { rows, poison } = foldBatch(batch, treeState);
  await writeRows(rows, trx);
  return poison;
}

/**
 * Writes the rows. What begins and ends in one batch is written once, whole: an update would write its row and its index entries
 * again. The fold knows trees, steps and rollouts to be new; of tool calls and divergences it knows nothing, and those that are
 * there are skipped.
 */
async function writeRows(rows: TreeRows, trx: Trx): Promise<void> {
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
