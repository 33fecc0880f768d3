import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A step, the rollout that took it, and the version of the policy that answered. */
export interface StepTaker {
  readonly stepId: string;
  readonly rolloutId: string;
  readonly policyVersion: number;
}

/** Reads which rollout took each step of a tree, in the order of the log; steps that no rollout took are left out. */
export async function readStepTakers(db: Db, treeId: string): Promise<readonly StepTaker[]> {
  const { rows } = await sql<StepTaker>`
    select step_id, rollout_id, coalesce((policy_spans #>> '{0,version}')::int, 0) as policy_version from steps
    where tree_id = ${treeId} and rollout_id is not null order by log_offset`.execute(db);
  return rows;
}
