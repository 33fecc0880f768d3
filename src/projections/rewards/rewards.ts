import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { type FinishedRollout, writeReturns } from './returns.ts';

const HANDLES: readonly EventType[] = ['TreeOpened', 'StepTaken', 'RolloutFinished', 'RewardAssigned', 'RewardRevised'];

/**
 * Folds reward facts. A revision changes the value in force and is kept beside the value it replaced; returns are summed anew along the
 * paths that a changed reward lies on, always in one order, so that any cut into batches gives the same bits.
 */
export const rewards: Projection = { name: 'rewards', version: 1, handles: HANDLES, project };

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
      poison.push({
        delivery,
        code: 'missing-tree',
        field: 'data.treeId',
        reason: `tree ${treeId} was never opened; append its TreeOpened first`,
      });
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

  await insertRows(trx, 'reward_trees', trees, { tree_id: 'uuid', run_id: 'uuid' });
  await insertRows(trx, 'reward_edges', edges, { step_id: 'uuid', tree_id: 'uuid', parent_step_id: 'uuid' });
  await insertRows(trx, 'rewards', [...assigned.values()], REWARD_COLUMNS);
  poison.push(...(await revise(revised, trx)));
  await writeReturns([...finished.values()], changedBy(batch), trx);
  return poison;
}

interface RewardRow {
  readonly reward_id: string;
  readonly tree_id: string;
  readonly step_id: string | null;
  readonly rollout_id: string | null;
  readonly component: string;
  readonly value: number;
  readonly assigned_value: number;
  readonly scorer: string;
  readonly scorer_revision: string;
  readonly raw: object | null;
  readonly revisions: number;
  readonly assigned_at: string;
}
const REWARD_COLUMNS: Record<keyof RewardRow, string> = {
  reward_id: 'uuid',
  tree_id: 'uuid',
  step_id: 'uuid',
  rollout_id: 'uuid',
  component: 'text',
  value: 'double precision',
  assigned_value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  raw: 'jsonb',
  revisions: 'integer',
  assigned_at: 'timestamptz',
};
function rewardRow({ data, occurredAt }: Envelope<'RewardAssigned'>): RewardRow {
  return {
    reward_id: data.rewardId,
    tree_id: data.treeId,
    step_id: data.stepId,
    rollout_id: data.rolloutId,
    component: data.component,
    value: data.value,
    assigned_value: data.value,
    scorer: data.scorer.name,
    scorer_revision: data.scorer.revision,
    raw: data.raw,
    revisions: 0,
    assigned_at: occurredAt,
  };
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
  const history: object[] = [];
  const latest = new Map<string, object>();

  for (const delivery of deliveries) {
    const { id, data, occurredAt } = delivery.event;
    const reward = standing.get(data.rewardId);
    if (reward?.treeId !== data.treeId) {
      const reason = `tree ${data.treeId} has no reward ${data.rewardId}; append its RewardAssigned first`;
      poison.push({ delivery, code: 'missing-reward', field: 'data.rewardId', reason });
      continue;
    }
    if (seen.has(id)) continue;
    seen.add(id);
    reward.revisions += 1;
    const { name: scorer, revision: scorer_revision } = data.scorer;
    const judged = { reward_id: data.rewardId, value: data.value, scorer, scorer_revision };
    history.push({
      ...judged,
      event_id: id,
      tree_id: data.treeId,
      ordinal: reward.revisions,
      reason: data.reason,
      occurred_at: occurredAt,
    });
    latest.set(data.rewardId, { ...judged, revisions: reward.revisions, revised_at: occurredAt });
  }

  await insertRows(trx, 'reward_revisions', history, REVISION_COLUMNS);
  if (latest.size > 0) {
    await sql`
      update rewards set value = r.value, scorer = r.scorer, scorer_revision = r.scorer_revision, revisions = r.revisions, revised_at = r.revised_at
      from ${recordset([...latest.values()], LATEST_COLUMNS)} where rewards.reward_id = r.reward_id`.execute(trx);
  }
  return poison;
}

const LATEST_COLUMNS = {
  reward_id: 'uuid',
  value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  revisions: 'integer',
  revised_at: 'timestamptz',
};
const REVISION_COLUMNS = {
  event_id: 'uuid',
  reward_id: 'uuid',
  tree_id: 'uuid',
  ordinal: 'integer',
  value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  reason: 'text',
  occurred_at: 'timestamptz',
};

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
