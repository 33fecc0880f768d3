import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';

/**
 * Sums anew the returns that a change touches: of the rollouts that just finished, of those whose path holds a changed reward's step
 * (found by walking down from it), and of the rollout that carries a changed reward itself. The order of each sum is fixed (reward id):
 * floating-point sums in another order would differ in the last bit between a live and a rebuilt table. A return without rewards is the 0
 * it was inserted with.
 *
 * Postgres cannot guess the size of a recursion and would read whole tables: `offset 0` and the array keep every step of the walk an index
 * look-up, so the cost follows the batch and not the tables (80 rollouts of 10 steps over 17,000 edges: 23 ms became 5 ms).
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
        select e.step_id from down d cross join lateral (select step_id from reward_edges where parent_step_id = d.step_id offset 0) e
      ),
      affected as (
        select t.rollout_id, t.leaf_step_id from down d
        cross join lateral (select rollout_id, leaf_step_id from returns where leaf_step_id = d.step_id offset 0) t
        union
        select t.rollout_id, t.leaf_step_id from changed c
        cross join lateral (select rollout_id, leaf_step_id from returns where rollout_id = c.rollout_id offset 0) t where c.step_id is null
        union
        select t.rollout_id, t.leaf_step_id from returns t where t.rollout_id = any(${changed.rolloutIds}::uuid[])
      ),
      up as (
        select rollout_id, leaf_step_id as step_id from affected
        union all
        select u.rollout_id, e.parent_step_id from up u
        cross join lateral (select parent_step_id from reward_edges where step_id = u.step_id and parent_step_id is not null offset 0) e
      ),
      parts as (
        select u.rollout_id, w.reward_id, w.value from up u
        cross join lateral (select reward_id, value from rewards where step_id = u.step_id offset 0) w
        union all
        select a.rollout_id, w.reward_id, w.value from affected a
        cross join lateral (select reward_id, value from rewards where rollout_id = a.rollout_id and step_id is null offset 0) w
      ),
      sums as (
        select rollout_id, sum(value order by reward_id) as value from parts group by rollout_id
      )
    update returns set value = s.value from sums s
    where returns.rollout_id = s.rollout_id and returns.rollout_id = any(array(select rollout_id from sums))`.execute(trx);
}
