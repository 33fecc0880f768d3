import type { Db } from '../../postgres/database.ts';
import { onlyOne } from '../ambiguous-id.ts';

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

/**
 * Reads a step as the beginning of a fork, in one statement; undefined for an unknown step. @param inTree the tree that is meant; null
 * where the id says it alone. @throws AmbiguousId where several trees have it.
 */
export async function readForkPoint(db: Db, stepId: string, inTree: string | null): Promise<ForkPoint | undefined> {
  const steps = await db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .leftJoin('runs as r', 'r.runId', 't.runId')
    .leftJoin('rollouts as o', (on) => on.onRef('o.rolloutId', '=', 's.rolloutId').onRef('o.treeId', '=', 's.treeId'))
    .leftJoin('steps as f', (on) => on.onRef('f.stepId', '=', 'o.fromStepId').onRef('f.treeId', '=', 'o.treeId'))
    .select(['s.treeId as treeId', 't.runId as runId', 's.parentStepId as parentStepId', 's.rolloutId as rolloutId'])
    .select(['s.depth', 'f.depth as fromDepth', 's.termination', 't.alias', 't.seed', 't.environment'])
    .select(['t.serverFingerprint as serverFingerprint', 'r.config'])
    .where('s.stepId', '=', stepId)
    .execute();
  return onlyOne({ kind: 'step', id: stepId, treeId: inTree }, steps);
}

/**
 * Reads the id of the deepest step of a tree that no rollout took: where the way to a fork's rollouts ends; null without a tree.
 */
export async function readForkedStep(db: Db, treeId: string): Promise<string | null> {
  const step = await db
    .selectFrom('steps')
    .select('stepId')
    .where('treeId', '=', treeId)
    .where('rolloutId', 'is', null)
    .orderBy('depth', 'desc')
    .limit(1)
    .executeTakeFirst();
  return step?.stepId ?? null;
}
