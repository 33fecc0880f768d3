import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { loadKnown } from './known.ts';
import { rewardsLoad } from './load.ts';
import { missingReward, missingStep, missingTree } from './refused.ts';
import { type FinishedRollout, writeReturns } from './returns.ts';
import { type EdgeRow, type LatestRow, latestRow, type RevisionRow, type RewardRow, revisionRow, rewardRow } from './rows.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = ['TreeOpened', 'StepTaken', 'RolloutFinished', 'RewardAssigned', 'RewardRevised'];

/**
 * Folds reward facts. A revision changes the value in force and is kept with the value it replaced; returns are summed again
 * along the paths that a changed reward lies on, always in one order, so that any cut into batches yields the same bits. For the
 * same end an event sees only what lies before it: a revision before its reward, a step before its parent and an end before its
 * leaf go to quarantine.
 */
export const rewards: Projection = { name: 'rewards', version: 1, handles: HANDLES, project, load: rewardsLoad() };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await loadKnown(batch, trx);
  const edges: EdgeRow[] = [];
  const trees: Row<typeof tables.reward_trees>[] = [];
  const assigned = new Map<string, RewardRow>();
  const finished = new Map<string, FinishedRollout>();
  const history: RevisionRow[] = [];
  const latest = new Map<string, LatestRow>();
  const poison: Poison[] = [];

  for (const delivery of batch) {
    if (isOf(delivery, 'TreeOpened')) {
      const { treeId, runId, rootStepId } = delivery.event.data;
      if (!known.runs.has(treeId)) known.runs.set(treeId, runId); // the first word is the fact, as in the table
      if (!known.steps.has(rootStepId)) known.steps.set(rootStepId, treeId);
      trees.push({ tree_id: treeId, run_id: runId });
      edges.push({ step_id: rootStepId, tree_id: treeId, parent_step_id: null });
      continue;
    }
    const { treeId } = delivery.event.data as { treeId: string }; // every type handled here names its tree
    const runId = known.runs.get(treeId);
    if (runId === undefined) {
      poison.push({ delivery, ...missingTree(treeId) });
      continue;
    }
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, parentStepId } = delivery.event.data;
      if (known.steps.get(parentStepId) !== treeId) {
        poison.push({ delivery, ...missingStep('data.parentStepId', parentStepId, treeId) });
        continue;
      }
      if (!known.steps.has(stepId)) known.steps.set(stepId, treeId);
      edges.push({ step_id: stepId, tree_id: treeId, parent_step_id: parentStepId });
    }
    if (isOf(delivery, 'RewardAssigned') && !assigned.has(delivery.event.data.rewardId)) {
      const { rewardId } = delivery.event.data;
      assigned.set(rewardId, rewardRow(delivery.event));
      if (!known.rewards.has(rewardId)) known.rewards.set(rewardId, { treeId, revisions: 0 });
    }
    if (isOf(delivery, 'RewardRevised')) {
      const { id, data } = delivery.event;
      const reward = known.rewards.get(data.rewardId);
      if (reward?.treeId !== treeId) {
        poison.push({ delivery, ...missingReward(data) });
        continue;
      }
      if (known.revised.has(id)) continue;
      known.revised.add(id);
      reward.revisions += 1;
      history.push(revisionRow(delivery.event, reward.revisions));
      latest.set(data.rewardId, latestRow(delivery.event, reward.revisions));
    }
    if (isOf(delivery, 'RolloutFinished')) {
      const { rolloutId, leafStepId } = delivery.event.data;
      if (known.steps.get(leafStepId) !== treeId) {
        poison.push({ delivery, ...missingStep('data.leafStepId', leafStepId, treeId) });
        continue;
      }
      if (!finished.has(rolloutId))
        finished.set(rolloutId, { rollout_id: rolloutId, tree_id: treeId, run_id: runId, leaf_step_id: leafStepId });
    }
  }

  await insertRows(trx, tables.reward_trees, trees);
  await insertRows(trx, tables.reward_edges, edges);
  await insertRows(trx, tables.rewards, [...assigned.values()]);
  await insertRows(trx, tables.reward_revisions, history);
  await updateRows(trx, tables.rewards, [...latest.values()]);
  await writeReturns([...finished.values()], changedBy(batch), trx);
  return poison;
}

/** Returns the rewards that a batch assigned or revised. */
function changedBy(batch: readonly Delivery[]): readonly string[] {
  return batch.flatMap((delivery) =>
    isOf(delivery, 'RewardAssigned') || isOf(delivery, 'RewardRevised') ? [delivery.event.data.rewardId] : [],
  );
}
