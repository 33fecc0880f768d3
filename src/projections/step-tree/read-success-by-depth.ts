import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** How the finished rollouts of the tasks of one depth went. */
export interface DepthSuccess {
  /** The depth that the environment assigns to its task; null when it has none. */
  readonly depth: number | null;
  readonly tasks: number;
  readonly rollouts: number;
  /** Successes per rollout; one that the environment did not judge is none. */
  readonly success: number;
  /** Mean steps of a rollout. */
  readonly steps: number;
  /** Steps of the longest rollout. */
  readonly longest: number;
}

/** Sums up the finished rollouts of a run by the depth of their task. @param without a tree that is left out; null for none. */
export async function readSuccessByDepth(db: Db, runId: string, without: string | null): Promise<readonly DepthSuccess[]> {
  const { rows } = await sql<DepthSuccess>`
    select t.task_depth as depth, count(distinct t.task_id)::int as tasks, count(*)::int as rollouts,
           avg(case when r.success then 1 else 0 end)::float8 as success, avg(r.steps)::float8 as steps, max(r.steps) as longest
    from rollouts r join trees t using (tree_id)
    where r.run_id = ${runId} and r.finished_at is not null and t.tree_id is distinct from ${without}::uuid
    group by t.task_depth order by t.task_depth`.execute(db);
  return rows;
}
