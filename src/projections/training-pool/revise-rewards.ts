import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import { tables } from './tables.ts';

/** What a reward lies on. */
export interface RewardPlace {
  readonly treeId: string;
  readonly rolloutId: string | null;
  readonly stepId: string | null;
}

interface CurrentReward {
  readonly rewardId: string;
  readonly treeId: string;
  readonly rolloutId: string | null;
  readonly stepId: string | null;
  value: number;
  revisedBy: readonly string[];
}

/** Rewards that the revisions of a batch name, as the batches before left them, by `keyInTree`. */
export type CurrentRewards = Map<string, CurrentReward>;

/** Reads what the revisions of a batch change, before the batch writes rewards of its own. */
export async function readCurrentRewards(batch: readonly Delivery[], trx: Trx): Promise<CurrentRewards> {
  const named = new Map<string, OfTree>();
  for (const delivery of batch) {
    if (!isOf(delivery, 'RewardRevised')) continue;
    const { treeId, rewardId: id } = delivery.event.data;
    named.set(keyInTree(treeId, id), { treeId, id });
  }
  if (named.size === 0) return new Map();
  const { rows } = await sql<CurrentReward>`
    select r.* from ${pairsOf([...named.values()])} w cross join lateral (
      select reward_id, tree_id, rollout_id, step_id, value, revised_by from sample_rewards
      where reward_id = w.id and tree_id = w.tree_id offset 0) r`.execute(trx);
  return new Map(rows.map((row) => [keyInTree(row.treeId, row.rewardId), row]));
}

/**
 * Puts the revisions of a batch in force, in log order, each event once. Returns what the changed rewards lie on. A revision sees
 * only what lies before it: of a reward that is assigned behind it in the same batch it changes nothing, as in another batch (it
 * is in the quarantine of `rewards` then).
 */
export async function reviseRewards(
  batch: readonly Delivery[],
  current: CurrentRewards,
  trx: Trx,
): Promise<readonly RewardPlace[]> {
  const changed = new Set<CurrentReward>();
  for (const delivery of batch) {
    if (isOf(delivery, 'RewardAssigned')) {
      const { rewardId, treeId, rolloutId, stepId, value } = delivery.event.data;
      const key = keyInTree(treeId, rewardId);
      if (!current.has(key)) current.set(key, { rewardId, treeId, rolloutId, stepId, value, revisedBy: [] });
    }
    if (!isOf(delivery, 'RewardRevised')) continue;
    const { id, data } = delivery.event;
    const reward = current.get(keyInTree(data.treeId, data.rewardId));
    if (reward === undefined || reward.revisedBy.includes(id)) continue;
    reward.value = data.value;
    reward.revisedBy = [...reward.revisedBy, id];
    changed.add(reward);
  }
  const changes = [...changed].map(({ rewardId, treeId, value, revisedBy }) => ({ rewardId, treeId, value, revisedBy }));
  await updateRows(trx, tables.sampleRewards, changes);
  return [...changed].map(({ treeId, rolloutId, stepId }) => ({ treeId, rolloutId, stepId }));
}
