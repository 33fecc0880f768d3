import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';

/**
 * Sums anew the returns that a change touches: of the rollouts that just finished, of those whose path holds a changed reward's step
 * (found by walking down from it), and of the rollout that carries a changed reward itself. The order of each sum is fixed (reward id):
 * floating-point sums in another order would differ in the last bit between a live and a rebuilt table.
 */
export async function recomputeReturns(
  changed: { readonly rewardIds: readonly string[]; readonly rolloutIds: readonly string[] },
  trx: Trx,
): Promise<void> {
  if (changed.rewardIds.length === 0 && changed.rolloutIds.length === 0) return;
  await sql`
    with recursive
      changed as (
        select step_id, rollout_id from rewards where reward_id = any(${changed.rewardIds}::uuid[])
      ),
      down as (
        select step_id from changed where step_id is not null
        union
        select e.step_id from down d join reward_edges e on e.parent_step_id = d.step_id
      ),
      affected as (
        select t.rollout_id, t.leaf_step_id from returns t join down d on t.leaf_step_id = d.step_id
        union
        select t.rollout_id, t.leaf_step_id from returns t join changed c on c.rollout_id = t.rollout_id and c.step_id is null
        union
        select t.rollout_id, t.leaf_step_id from returns t where t.rollout_id = any(${changed.rolloutIds}::uuid[])
      ),
      up as (
        select rollout_id, leaf_step_id as step_id from affected
        union all
        select u.rollout_id, e.parent_step_id from up u join reward_edges e on e.step_id = u.step_id where e.parent_step_id is not null
      ),
      parts as (
        select u.rollout_id, w.reward_id, w.value from up u join rewards w on w.step_id = u.step_id
        union all
        select a.rollout_id, w.reward_id, w.value from affected a join rewards w on w.rollout_id = a.rollout_id and w.step_id is null
      ),
      sums as (
        select a.rollout_id, coalesce(sum(p.value order by p.reward_id), 0) as value
        from affected a left join parts p on p.rollout_id = a.rollout_id group by a.rollout_id
      )
    update returns set value = s.value from sums s where returns.rollout_id = s.rollout_id`.execute(trx);
}
