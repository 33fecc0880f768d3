import type { Db } from '../../postgres/database.ts';

/** A step that a run may go on from, with what a plan of that run needs of its tree and its own run. */
export interface ForkPoint {
  readonly treeId: string;
  readonly runId: string;
  readonly parentStepId: string | null;
  /** Null for the root, and on the way to the node where the rollouts of a fork begin. */
  readonly rolloutId: string | null;
  readonly depth: number;
  /** The depth of the node where its rollout began; null where no rollout took it. */
  readonly fromDepth: number | null;
  readonly termination: 'none' | 'terminated' | 'truncated';
  readonly alias: string;
  readonly seed: number;
  readonly environment: string;
  readonly serverFingerprint: string;
  /** Of its run, as the producer wrote it; null where the run is not known. */
  readonly config: unknown;
}

/** Reads a step as the beginning of a fork, in one statement; undefined for an unknown step. */
export async function readForkPoint(db: Db, stepId: string): Promise<ForkPoint | undefined> {
  return db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.tree_id', 's.tree_id')
    .leftJoin('runs as r', 'r.run_id', 't.run_id')
    .leftJoin('rollouts as o', 'o.rollout_id', 's.rollout_id')
    .leftJoin('steps as f', 'f.step_id', 'o.from_step_id')
    .select(['s.tree_id as treeId', 't.run_id as runId', 's.parent_step_id as parentStepId', 's.rollout_id as rolloutId'])
    .select(['s.depth', 'f.depth as fromDepth', 's.termination', 't.alias', 't.seed', 't.environment'])
    .select(['t.server_fingerprint as serverFingerprint', 'r.config'])
    .where('s.step_id', '=', stepId)
    .executeTakeFirst();
}

/**
 * Reads the id of the deepest step of a tree that no rollout took: where the way to a fork's rollouts ends; null without a tree.
 */
export async function readForkedStep(db: Db, treeId: string): Promise<string | null> {
  const step = await db
    .selectFrom('steps')
    .select('step_id')
    .where('tree_id', '=', treeId)
    .where('rollout_id', 'is', null)
    .orderBy('depth', 'desc')
    .limit(1)
    .executeTakeFirst();
  return step?.step_id ?? null;
}
