import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { rewardsLoad } from './load.ts';
import { missingReward, missingTree } from './refused.ts';
import { type FinishedRollout, writeReturns } from './returns.ts';
import {
  EDGE_COLUMNS,
  type LatestRow,
  latestRow,
  REVISION_COLUMNS,
  REWARD_COLUMNS,
  type RevisionRow,
  type RewardRow,
  revisionRow,
  rewardRow,
  TREE_COLUMNS,
} from './rows.ts';
import { writeLatest } from './write-latest.ts';

const HANDLES: readonly EventType[] = ['TreeOpened', 'StepTaken', 'RolloutFinished', 'RewardAssigned', 'RewardRevised'];

/**
 * Folds reward facts. A revision changes the value in force and is kept beside the value it replaced; returns are summed anew along the
 * paths that a changed reward lies on, always in one order, so that any cut into batches gives the same bits.
 */
export const rewards: Projection = { name: 'rewards', version: 1, handles: HANDLES, project, load: rewardsLoad() };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const edges: object[] = [];
  const trees: object[] = [];
  const assigned = new Map<string, RewardRow>();
  const finished = new Map<string, FinishedRollout>();
  const revised: Delivery<Envelope<'RewardRevised'>>[] = [];
  const runOf = await runsOfTrees(batch, trx);
  const poison: Poison[] = [];

  for (const delivery of batch) {
    if (isOf(delivery, 'TreeOpened')) {
      const { data } = delivery.event;
      runOf.set(data.treeId, data.runId);
      trees.push({ tree_id: data.treeId, run_id: data.runId });
      edges.push({ step_id: data.rootStepId, tree_id: data.treeId, parent_step_id: null });
      continue;
    }
    const { treeId } = delivery.event.data as { treeId: string }; // every type handled here names its tree
    const runId = runOf.get(treeId);
    if (runId === undefined) {
      poison.push({ delivery, ...missingTree(treeId) });
      continue;
    }
    if (isOf(delivery, 'StepTaken'))
      edges.push({ step_id: delivery.event.data.stepId, tree_id: treeId, parent_step_id: delivery.event.data.parentStepId });
    if (isOf(delivery, 'RewardAssigned') && !assigned.has(delivery.event.data.rewardId))
      assigned.set(delivery.event.data.rewardId, rewardRow(delivery.event));
    if (isOf(delivery, 'RewardRevised')) revised.push(delivery);
    if (isOf(delivery, 'RolloutFinished')) {
      const { rolloutId, leafStepId } = delivery.event.data;
      if (!finished.has(rolloutId))
        finished.set(rolloutId, { rollout_id: rolloutId, tree_id: treeId, run_id: runId, leaf_step_id: leafStepId });
    }
  }

  await insertRows(trx, 'reward_trees', trees, TREE_COLUMNS);
  await insertRows(trx, 'reward_edges', edges, EDGE_COLUMNS);
  await insertRows(trx, 'rewards', [...assigned.values()], REWARD_COLUMNS);
  poison.push(...(await revise(revised, trx)));
  await writeReturns([...finished.values()], changedBy(batch), trx);
  return poison;
}

/** Applies revisions in log order. One that was applied before (its event id is known) changes nothing. */
async function revise(deliveries: readonly Delivery<Envelope<'RewardRevised'>>[], trx: Trx): Promise<readonly Poison[]> {
  if (deliveries.length === 0) return [];
  const rewardIds = [...new Set(deliveries.map((d) => d.event.data.rewardId))];
  const eventIds = deliveries.map((d) => d.event.id);
  const current = await sql<{ reward_id: string; tree_id: string; revisions: number }>`
    select reward_id, tree_id, revisions from rewards where reward_id = any(${rewardIds}::uuid[])`.execute(trx);
  const applied = await sql<{
    event_id: string;
  }>`select event_id from reward_revisions where event_id = any(${eventIds}::uuid[])`.execute(trx);
  const standing = new Map(current.rows.map((row) => [row.reward_id, { treeId: row.tree_id, revisions: row.revisions }]));
  const seen = new Set(applied.rows.map((row) => row.event_id));
  const poison: Poison[] = [];
  const history: RevisionRow[] = [];
  const latest = new Map<string, LatestRow>();

  for (const delivery of deliveries) {
    const { id, data } = delivery.event;
    const reward = standing.get(data.rewardId);
    if (reward?.treeId !== data.treeId) {
      poison.push({ delivery, ...missingReward(data) });
      continue;
    }
    if (seen.has(id)) continue;
    seen.add(id);
    reward.revisions += 1;
    history.push(revisionRow(delivery.event, reward.revisions));
    latest.set(data.rewardId, latestRow(delivery.event, reward.revisions));
  }

  await insertRows(trx, 'reward_revisions', history, REVISION_COLUMNS);
  await writeLatest([...latest.values()], trx);
  return poison;
}

/** Gives the rewards that a batch assigned or revised. */
function changedBy(batch: readonly Delivery[]): readonly string[] {
  return batch.flatMap((delivery) =>
    isOf(delivery, 'RewardAssigned') || isOf(delivery, 'RewardRevised') ? [delivery.event.data.rewardId] : [],
  );
}

async function runsOfTrees(batch: readonly Delivery[], trx: Trx): Promise<Map<string, string>> {
  const ids = [...new Set(batch.map((d) => (d.event.data as { treeId: string }).treeId))]; // as above
  const { rows } = await sql<{ tree_id: string; run_id: string }>`
    select tree_id, run_id from reward_trees where tree_id = any(${ids}::uuid[])`.execute(trx);
  return new Map(rows.map((row) => [row.tree_id, row.run_id]));
}
