import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { successRate } from '../step-tree/success-rate.ts';

/** What a run amounts to so far. Rates and means are null while there is nothing to divide by. */
export interface RunTotals {
  readonly runId: string;
  readonly trees: number;
  readonly closedTrees: number;
  readonly rollouts: number;
  readonly terminated: number;
  readonly truncated: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Actions taken; the roots of the trees are no actions. */
  readonly steps: number;
  readonly successes: number;
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate: number | null;
  readonly meanReturn: number | null;
}
export interface DepthTotals {
  readonly runId: string;
  /** The depth that the environment assigns to its task (TextCraft: the depth of the recipe); null when it has none. */
  readonly taskDepth: number | null;
  readonly trees: number;
  readonly tasks: number;
  readonly rollouts: number;
  readonly finished: number;
  readonly successes: number;
  /** Successes per finished rollout; null where the environment judges none. */
  readonly successRate: number | null;
  readonly meanReturn: number | null;
  /** Of the finished rollouts, from where each began. */
  readonly meanSteps: number | null;
  readonly maxSteps: number | null;
}

// Postgres sums squares as well as the values; amounts are within ±1e100 (domain/reward/amount.ts), so that neither overflows. No
// factor scales them: the smallest doubles would underflow, which ends the statement.
const MEAN_RETURN = sql`avg(v.value)`;

/** Sums up runs, in one statement; a run without trees has zeros. */
export async function readRunTotals(db: Db, runs: readonly string[]): Promise<readonly RunTotals[]> {
  const { rows } = await sql<RunTotals>`
    with chosen as (select unnest(${[...runs]}::uuid[]) as run_id),
    t as (select run_id, count(*) as trees, count(closed_at) as closed from trees where run_id in (table chosen) group by 1),
    s as (select t.run_id, count(*) filter (where s.depth > 0) as steps
          from trees t join steps s using (tree_id) where t.run_id in (table chosen) group by 1),
    r as (select o.run_id, count(*) as rollouts,
                 count(*) filter (where o.outcome = 'terminated') as terminated,
                 count(*) filter (where o.outcome = 'truncated') as truncated,
                 count(*) filter (where o.outcome = 'failed') as failed,
                 count(*) filter (where o.outcome = 'cancelled') as cancelled,
                 count(*) filter (where o.success) as successes, ${successRate('o')} as success_rate, ${MEAN_RETURN} as mean_return
          from rollouts o left join returns v using (rollout_id) where o.run_id in (table chosen) group by 1)
    select c.run_id, coalesce(t.trees, 0) as trees, coalesce(t.closed, 0) as closed_trees,
           coalesce(r.rollouts, 0) as rollouts, coalesce(r.terminated, 0) as terminated, coalesce(r.truncated, 0) as truncated,
           coalesce(r.failed, 0) as failed, coalesce(r.cancelled, 0) as cancelled, coalesce(s.steps, 0) as steps,
           coalesce(r.successes, 0) as successes, r.success_rate,
           r.mean_return
    from chosen c left join t using (run_id) left join s using (run_id) left join r using (run_id)`.execute(db);
  return rows;
}

/** Sums up the trees and rollouts of runs by the depth of their tasks, shallow first. */
export async function readDepthTotals(db: Db, runs: readonly string[]): Promise<readonly DepthTotals[]> {
  const { rows } = await sql<DepthTotals>`
    select t.run_id, t.task_depth, count(distinct t.tree_id) as trees, count(distinct t.task_id) as tasks,
           count(o.rollout_id) as rollouts, count(o.finished_at) as finished, count(*) filter (where o.success) as successes,
           ${successRate('o')} as success_rate, ${MEAN_RETURN} as mean_return,
           avg(o.steps) filter (where o.finished_at is not null)::float8 as mean_steps,
           max(o.steps) filter (where o.finished_at is not null) as max_steps
    from trees t left join rollouts o using (tree_id) left join returns v using (rollout_id)
    where t.run_id = any(${[...runs]}::uuid[])
    group by t.run_id, t.task_depth
    order by t.run_id, t.task_depth nulls last`.execute(db);
  return rows;
}
