import type { Delivery } from '../../events/envelope.ts';
import { updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { isOf } from '../projection.ts';
import { tables } from './tables.ts';

/** What a reward lies on. */
export interface RewardPlace {
  readonly rolloutId: string | null;
  readonly stepId: string | null;
}

interface CurrentReward {
  readonly rewardId: string;
  readonly rolloutId: string | null;
  readonly stepId: string | null;
  value: number;
  revisedBy: readonly string[];
}

/** Rewards that the revisions of a batch name, as the batches before left them. */
export type CurrentRewards = Map<string, CurrentReward>;

/** Reads what the revisions of a batch change, before the batch writes rewards of its own. */
export async function readCurrentRewards(batch: readonly Delivery[], trx: Trx): Promise<CurrentRewards> {
  const ids = new Set(batch.flatMap((delivery) => (isOf(delivery, 'RewardRevised') ? [delivery.event.data.rewardId] : [])));
  if (ids.size === 0) return new Map();
  const rows = await rowsWhere(trx, 'sampleRewards', { rewardId: ids }, [
    'rewardId',
    'rolloutId',
    'stepId',
    'value',
    'revisedBy',
  ]);
  return new Map(rows.map((row) => [row.rewardId, row]));
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
      const { rewardId, rolloutId, stepId, value } = delivery.event.data;
      if (!current.has(rewardId)) current.set(rewardId, { rewardId, rolloutId, stepId, value, revisedBy: [] });
    }
    if (!isOf(delivery, 'RewardRevised')) continue;
    const { id, data } = delivery.event;
    const reward = current.get(data.rewardId);
    if (reward === undefined || reward.revisedBy.includes(id)) continue;
    reward.value = data.value;
    reward.revisedBy = [...reward.revisedBy, id];
    changed.add(reward);
  }
  const changes = [...changed].map(({ rewardId, value, revisedBy }) => ({ rewardId, value, revisedBy }));
  await updateRows(trx, tables.sampleRewards, changes);
  return [...changed].map(({ rolloutId, stepId }) => ({ rolloutId, stepId }));
}
