import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { bar, table } from '../terminal.ts';

/** Says how often rollouts succeed, by the depth of their task. @param without a tree that is left out: one that is no group. */
export async function successByDepth(db: Db, runId: string, without: string | undefined): Promise<string> {
  const { rows } = await sql<{
    depth: number | null;
    tasks: number;
    rollouts: number;
    success: number;
    steps: number;
    longest: number;
  }>`
    select t.task_depth as depth, count(distinct t.task_id)::int as tasks, count(*)::int as rollouts,
           avg(case when r.success then 1 else 0 end)::float8 as success, avg(r.steps)::float8 as steps, max(r.steps) as longest
    from rollouts r join trees t using (tree_id) where r.run_id = ${runId} and r.finished_at is not null and t.tree_id is distinct from ${without ?? null}::uuid
    group by t.task_depth order by t.task_depth`.execute(db);
  return table(
    ['crafts needed', 'tasks', 'rollouts', 'success', '', 'steps mean', 'most'],
    rows.map((row) => [
      row.depth ?? '?',
      row.tasks,
      row.rollouts,
      `${(row.success * 100).toFixed(0)}%`,
      bar(row.success),
      row.steps.toFixed(1),
      row.longest,
    ]),
  );
}

export interface RecordCounts {
  readonly events: number;
  readonly trees: number;
  readonly rollouts: number;
  readonly steps: number;
  readonly bytes: number;
}

/** Counts what the record holds of a run. */
export async function countRecord(db: Db, runId: string): Promise<RecordCounts> {
  const { rows } = await sql<RecordCounts>`
    select (select count(*) from events where correlation_id = ${runId})::int as events,
           (select coalesce(sum(octet_length(body)), 0) from events where correlation_id = ${runId})::float8 as bytes,
           (select count(*) from trees where run_id = ${runId})::int as trees,
           (select count(*) from rollouts where run_id = ${runId})::int as rollouts,
           (select count(*) from steps s join trees t using (tree_id) where t.run_id = ${runId} and s.depth > 0)::int as steps`.execute(
    db,
  );
  const counts = rows[0];
  if (!counts) throw new Error('a query of counts gives one row');
  return counts;
}

/** Gives the tree of a run with the most rollouts: the deep one. */
export async function deepestTree(db: Db, runId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('trees')
    .select('tree_id')
    .where('run_id', '=', runId)
    .orderBy('planned_rollouts', 'desc')
    .orderBy('tree_id')
    .limit(1)
    .executeTakeFirst();
  return row?.tree_id;
}
