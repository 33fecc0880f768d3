import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { OfTree } from '../of-tree.ts';

/** A rollout that was taken from the first observation to its end, and did not succeed. */
export interface FailedRollout {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly alias: string;
  readonly steps: number;
}

/**
 * Reads the failed rollouts of a run that have a step to cut behind and one to cut off, in the order of their tasks and ordinals.
 */
export async function readFailures(db: Db, runId: string): Promise<readonly FailedRollout[]> {
  const { rows } = await sql<FailedRollout>`
    select o.tree_id, o.rollout_id, t.alias, o.steps
    from rollouts o join trees t using (tree_id) left join returns v using (rollout_id, tree_id)
    where o.run_id = ${runId} and o.outcome in ('terminated', 'truncated') and o.success is not true and coalesce(v.value, 0) <= 0
      and o.from_step_id = t.root_step_id and o.steps >= 2
    order by t.tree_id, o.ordinal`.execute(db);
  return rows;
}

/** Reads the step that a rollout took at a depth; null where it took none. */
export async function readStepOf(db: Db, rollout: OfTree, depth: number): Promise<string | null> {
  const step = await db
    .selectFrom('steps')
    .select('stepId')
    .where('treeId', '=', rollout.treeId)
    .where('rolloutId', '=', rollout.id)
    .where('depth', '=', depth)
    .executeTakeFirst();
  return step?.stepId ?? null;
}
