import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** The finished rollouts of a tree, by ordinal, and its steps, by id: enough to walk each from its leaf to the root. */
export interface GroupWalks {
  readonly steps: ReadonlyMap<string, WalkStep>;
  readonly rollouts: readonly Walk[];
}

export interface WalkStep {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly stateHash: string | null;
}

export interface Walk {
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly leafStepId: string;
}

/** Reads the walks of a tree's rollouts; those that failed or were cancelled are left out. */
export async function readGroupWalks(db: Db, treeId: string): Promise<GroupWalks> {
  const { rows: steps } = await sql<WalkStep>`
    select step_id, parent_step_id, state_hash from steps where tree_id = ${treeId}`.execute(db);
  const { rows: rollouts } = await sql<Walk>`
    select rollout_id, from_step_id, leaf_step_id from rollouts
    where tree_id = ${treeId} and outcome in ('terminated', 'truncated') order by ordinal, rollout_id`.execute(db);
  return { steps: new Map(steps.map((step) => [step.stepId, step])), rollouts };
}
