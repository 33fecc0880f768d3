import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Poison, Projection } from '../projection.ts';
import { foldBatch } from './fold-batch.ts';
import { loadTreeState } from './load-tree-state.ts';
import { writeRows } from './write-rows.ts';

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
 * below it; a rollout starts at a step of its tree and ends once; a revision is made of paths of its tree; nothing belongs to a
 * tree that was never opened. What breaks one goes to quarantine, with its descendants.
 */
export const stepTree: Projection = { name: 'step-tree', version: 3, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const treeState = await loadTreeState(batch, trx);
  const { rows, poison } = foldBatch(batch, treeState);
  await writeRows(rows, trx);
  return poison;
}
