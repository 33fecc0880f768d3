import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Poison, Projection } from '../projection.ts';
import { foldRuns } from './fold-runs.ts';
import { foldTraining } from './fold-training.ts';
import { foldTrees } from './fold-trees.ts';

const HANDLES: readonly EventType[] = [
  ...(['RunStarted', 'RunFinished'] as const),
  ...(['TreeOpened', 'RolloutStarted', 'StepTaken', 'RewardAssigned', 'RewardRevised', 'RolloutFinished', 'TreeClosed'] as const),
  ...(['TrainingDeclared', 'BatchPlanned', 'SampleRejected', 'BatchLeased', 'LeaseExpired', 'BatchReturned'] as const),
  ...(['BatchAcked', 'BatchAbandoned', 'CheckpointSaved', 'PolicyUpdated'] as const),
];

/**
 * Folds which rollouts may train which policy, and what became of each. Its facts lie on three topics, whose partitions are read
 * in any order: each is kept by its own id (what a tree holds by that and the tree), none asks for another of another topic, and what follows from two of them is joined
 * by who reads. What breaks the shape of a tree is in quarantine of `step-tree`; here only the streams of training have rules: what
 * follows another batch, and which end of a sample or a batch excludes another.
 */
export const trainingPool: Projection = { name: 'training-pool', version: 5, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  // A slice is of one topic, so two of the three have nothing to do.
  await foldRuns(batch, trx);
  await foldTrees(batch, trx);
  return foldTraining(batch, trx);
}
