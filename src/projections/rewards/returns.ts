import { sql } from 'kysely';
import { copyNew, recordset, typesOf, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { exactSum } from '../../postgres/exact-sum.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { countReturns, type PartitionOf, type SummedReturn } from './count-returns.ts';
import { tables } from './tables.ts';

/** A rollout that just finished, at its leaf. */
export interface FinishedRollout {
  readonly rolloutId: string;
  readonly treeId: string;
  readonly runId: string;
  readonly leafStepId: string;
}

/**
 * Writes the returns of rollouts that finished, and sums again those that a changed reward touches: of the rollouts whose path
 * holds its step (found by walking down from it), and of the rollout that carries it itself; a reward counts in its own tree
 * alone, whatever it names. Sums are exact: equal rewards have equal returns, live and rebuilt.
 */
export async function writeReturns(
  finished: readonly FinishedRollout[],
  changed: readonly OfTree[],
  partitionOf: PartitionOf,
  trx: Trx,
): Promise<void> {
  if (finished.length === 0 && changed.length === 0) return;
  const sums = await sumReturns(finished, changed, trx);
  const ends = new Map(finished.map((rollout) => [keyInTree(rollout.treeId, rollout.rolloutId), rollout]));
  const fresh = sums.flatMap(({ kind, treeId, rolloutId, value }) => {
    const end = kind === 'fresh' ? ends.get(keyInTree(treeId, rolloutId)) : undefined;
    return end ? [{ ...end, value }] : [];
  });
  const existing = sums.flatMap(({ kind, treeId, rolloutId, value }) =>
    kind === 'existing' ? [{ rolloutId, treeId, value }] : [],
  );
  await sideBySide(
    () => copyNew(trx, tables.returns, fresh),
    () => updateRows(trx, tables.returns, existing),
    () => countReturns(sums, partitionOf, trx),
  );
}

interface Sum extends SummedReturn {
  /** `existing`: the rollout's return is a row already. */
  readonly kind: 'fresh' | 'existing';
  readonly rolloutId: string;
}

/**
 * Walks from the changed rewards down to the leaves they touch, and from every leaf up to its root, summing the rewards on the
 * way.
 *
 * Postgres cannot guess the size of a recursion and would read whole tables: `offset 0` keeps every step of the walk an index
 * look-up, so the cost follows the batch and not the tables (80 rollouts of 10 steps over 17,000 edges: 23 ms became 5 ms). The
 * parts are grouped, not joined with what is affected: slices that share a transaction do without hashed and merged joins.
 */
async function sumReturns(
  finished: readonly FinishedRollout[],
  changedRewards: readonly OfTree[],
  trx: Trx,
): Promise<readonly Sum[]> {
  const { rows } = await sql<Sum>`
    with recursive
      changed as (
        select r.* from ${pairsOf(changedRewards)} w cross join lateral (
          select tree_id, step_id, rollout_id from rewards where reward_id = w.id and tree_id = w.tree_id offset 0) r
      ),
      down as (
        select tree_id, step_id from changed where step_id is not null
        union
        select d.tree_id, e.step_id from down d cross join lateral (
          select step_id from reward_edges where parent_step_id = d.step_id and tree_id = d.tree_id offset 0) e
      ),
      touched as (
        select t.* from down d
        cross join lateral (select rollout_id, tree_id, run_id, leaf_step_id, value from returns where leaf_step_id = d.step_id and tree_id = d.tree_id offset 0) t
        union
        select t.* from changed c
        cross join lateral (select rollout_id, tree_id, run_id, leaf_step_id, value from returns where rollout_id = c.rollout_id and tree_id = c.tree_id offset 0) t where c.step_id is null
      ),
      affected as (
        select 'existing' as kind, rollout_id, tree_id, run_id, leaf_step_id, value as written from touched
        union all
        select 'fresh', r.rollout_id, r.tree_id, r.run_id, r.leaf_step_id, null
        from ${recordset(finished, typesOf(tables.returns, ['rolloutId', 'treeId', 'runId', 'leafStepId']))}
        where not exists (select from returns t where t.rollout_id = r.rollout_id and t.tree_id = r.tree_id)
      ),
      up as (
        select kind, rollout_id, tree_id, leaf_step_id as step_id from affected
        union all -- no walk comes back: a step is added behind its parent
        select u.kind, u.rollout_id, u.tree_id, e.parent_step_id from up u
        cross join lateral (
          select parent_step_id from reward_edges
          where step_id = u.step_id and tree_id = u.tree_id and parent_step_id is not null offset 0) e
      ),
      parts as (
        select kind, rollout_id, tree_id, run_id, written, null::uuid as reward_id, null::float8 as value from affected -- those without rewards too
        union all
        select u.kind, u.rollout_id, u.tree_id, null, null, w.reward_id, w.value
        from (select kind, rollout_id, tree_id, array_agg(step_id) as steps from up group by kind, rollout_id, tree_id) u
        cross join lateral (select reward_id, value from rewards where step_id = any(u.steps) and tree_id = u.tree_id offset 0) w
        union all
        select a.kind, a.rollout_id, a.tree_id, null, null, w.reward_id, w.value from affected a
        cross join lateral (select reward_id, value from rewards where rollout_id = a.rollout_id and step_id is null and tree_id = a.tree_id offset 0) w
      )
    select kind, rollout_id, tree_id, (array_agg(run_id) filter (where run_id is not null))[1] as run_id, max(written) as written,
           ${exactSum(sql`value`)} as value
    from parts group by kind, rollout_id, tree_id`.execute(trx);
  return rows;
}
