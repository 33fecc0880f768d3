import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { trainingChannel } from '../../events/schemas/training.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { foldTraining } from './fold-training.ts';
import { foldTrees } from './fold-trees.ts';
import { mergeRows, type Part } from './merge-rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { tables } from './tables.ts';

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

/** Keeps the runs whose recorded configuration says `training: {policyId, channel}`, and which runs are over. */
async function foldRuns(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const found: Part<typeof tables.trainingRuns, keyof typeof PARTS>[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'RunStarted')) {
      const { data, occurredAt } = delivery.event;
      // any JSON: a part of it, or undefined
      const named = trainingChannel.safeParse((data.config as { training?: unknown } | null)?.training);
      if (!named.success) continue;
      const { policyId, channel } = named.data;
      found.push({ part: 'started', key: { runId: data.runId }, values: { policyId, channel, startedAt: occurredAt } });
    }
    if (isOf(delivery, 'RunFinished')) {
      const { data, occurredAt } = delivery.event;
      found.push({ part: 'finished', key: { runId: data.runId }, values: { finishedAt: occurredAt } });
    }
  }
  await mergeRows(trx, tables.trainingRuns, found, PARTS);
  const feeding = found.flatMap(({ part, key, values }) =>
    part === 'started' && values.channel === 'train' && key.runId !== undefined ? [key.runId] : [],
  );
  if (feeding.length === 0) return;
  // groups that were folded before their run
  const trees = await lockClosed(trx, sql`array(select tree_id from groups where run_id = any(${feeding}::uuid[]))`);
  await settleGroups(trx, trees);
}

const PARTS = { started: ['startedAt', 'policyId', 'channel'], finished: ['finishedAt'] } as const;
