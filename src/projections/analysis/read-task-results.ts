import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean } from '../../postgres/exact-sum.ts';

/** What the finished rollouts of one run achieved on one task. */
export interface TaskResults {
  readonly runId: string;
  readonly taskId: string;
  readonly rollouts: number;
  /** 0 of a task of which nothing was judged, where the run has others that were: its rollouts failed or were cut off. */
  readonly successRate: number | null;
  /** Of those that somebody rewarded; null where nobody did. */
  readonly meanReturn: number | null;
}

/**
 * Reads what runs achieved, task by task, in one statement. Returns are narrowed to the same runs: their index holds the values,
 * where a join by rollout alone reads the whole table.
 */
export async function readTaskResults(db: Db, runs: readonly string[]): Promise<readonly TaskResults[]> {
  const { rows } = await sql<TaskResults>`
    select o.run_id, o.task_id, count(*) as rollouts,
           case when sum(count(o.success)) over (partition by o.run_id) > 0
             then count(*) filter (where o.success) / count(*)::float8 end as success_rate,
           ${exactMean(sql`v.value`)} as mean_return
    from rollouts o left join (
      select rollout_id, tree_id, value from returns where run_id = any(${[...runs]}::uuid[])) v using (rollout_id, tree_id)
    where o.run_id = any(${[...runs]}::uuid[]) and o.finished_at is not null
    group by o.run_id, o.task_id`.execute(db);
  return rows;
}
