import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A rollout that was taken from the first observation to its end, and did not succeed. */
export interface FailedRollout {
  readonly rolloutId: string;
  readonly alias: string;
  readonly steps: number;
}

/** Reads the failed rollouts of a run that have a step to cut behind and one to cut off, in the order of their tasks and ordinals. */
export async function readFailures(db: Db, runId: string): Promise<readonly FailedRollout[]> {
  const { rows } = await sql<FailedRollout>`
    select o.rollout_id as "rolloutId", t.alias, o.steps
    from rollouts o join trees t using (tree_id) left join returns v using (rollout_id)
    where o.run_id = ${runId} and o.outcome in ('terminated', 'truncated') and o.success is not true and coalesce(v.value, 0) <= 0
      and o.from_step_id = t.root_step_id and o.steps >= 2
    order by t.tree_id, o.ordinal`.execute(db);
  return rows;
}

/** Reads what was said in the first steps of a rollout, in order, and by which policy. A reply in the blob store (over 64 KiB) is refused. */
export async function readActedSteps(
  db: Db,
  rolloutId: string,
  steps: number,
): Promise<readonly { readonly response: string; readonly policy: { readonly policyId: string; readonly version: number } }[]> {
  const { rows } = await sql<{ response: string; policyId: string; version: number }>`
    select s.response, o.policy_id as "policyId", o.policy_version as version
    from rollouts o join steps s on s.tree_id = o.tree_id and s.rollout_id = o.rollout_id
    where o.rollout_id = ${rolloutId} and (s.blobs is null or not s.blobs ? 'response')
    order by s.depth limit ${steps}`.execute(db);
  return rows.map(({ response, ...policy }) => ({ response, policy }));
}
