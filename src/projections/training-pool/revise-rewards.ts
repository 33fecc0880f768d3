import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf } from '../projection.ts';

/** What a reward lies on. */
export interface RewardPlace {
  readonly rolloutId: string | null;
  readonly stepId: string | null;
}

interface Standing {
  readonly reward_id: string;
  readonly rollout_id: string | null;
  readonly step_id: string | null;
  value: number;
  revised_by: readonly string[];
}

/** Puts the revisions of a batch in force, in log order, each event once. Gives what the changed rewards lie on. */
export async function reviseRewards(batch: readonly Delivery[], trx: Trx): Promise<readonly RewardPlace[]> {
  const revisions = batch.flatMap((delivery) => (isOf(delivery, 'RewardRevised') ? [delivery.event] : []));
  if (revisions.length === 0) return [];
  const ids = [...new Set(revisions.map(({ data }) => data.rewardId))];
  const { rows } = await sql<Standing>`
    select reward_id, rollout_id, step_id, value, revised_by from sample_rewards where reward_id = any(${ids}::uuid[])`.execute(
    trx,
  );
  const standing = new Map(rows.map((row) => [row.reward_id, row]));
  const changed = new Set<Standing>();
  for (const { id, data } of revisions) {
    const reward = standing.get(data.rewardId);
    if (reward === undefined || reward.revised_by.includes(id)) continue; // one that was never assigned is in quarantine of `rewards`
    reward.value = data.value;
    reward.revised_by = [...reward.revised_by, id];
    changed.add(reward);
  }
  if (changed.size > 0) {
    const told = [...changed].map(({ reward_id, value, revised_by }) => ({ reward_id, value, revised_by }));
    await sql`
      update sample_rewards set value = r.value, revised_by = r.revised_by
      from ${recordset(told, { reward_id: 'uuid', value: 'double precision', revised_by: 'jsonb' })}
      where sample_rewards.reward_id = r.reward_id`.execute(trx);
  }
  return [...changed].map(({ rollout_id: rolloutId, step_id: stepId }) => ({ rolloutId, stepId }));
}
