import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/**
 * Reads the tasks that any tree of the record has in a test split, and those of other servers or runs that show the same first
 * observation: a task is what the agent sees, and integers are not stable between servers (specification of Agent-R, §6 items 19,
 * 20).
 */
export async function readTestTasks(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id from trees t
    where (t.environment, t.observation_hash) in (select environment, observation_hash from trees where split = 'test')`.execute(
    db,
  );
  return new Set(rows.map(({ taskId }) => taskId));
}

/**
 * Reads the tasks that a rollout of an evaluation or of a channel that is held out began, and those that show the same first
 * observation. The channel `baseline` is none of these: its greedy rollouts are of the tasks that are trained on.
 */
export async function readEvaluatedTasks(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id from trees t
    where (t.environment, t.observation_hash) in (
      select seen.environment, seen.observation_hash from trees seen join runs r on r.run_id = seen.run_id
      where r.kind = 'evaluate' or r.config #>> '{training,channel}' in ('validation', 'held-out'))`.execute(db);
  return new Set(rows.map(({ taskId }) => taskId));
}
