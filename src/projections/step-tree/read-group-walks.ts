import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

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
  const steps = await rowsWhere(db, 'steps', { treeId }, ['stepId', 'parentStepId', 'stateHash']);
  const rollouts = await rowsWhere(
    db,
    'rollouts',
    { treeId, outcome: ['terminated', 'truncated'] },
    ['rolloutId', 'fromStepId', 'leafStepId'],
    ['ordinal', 'rolloutId'],
  );
  return { steps: new Map(steps.map((step) => [step.stepId, step])), rollouts: rollouts as Walk[] }; // each has ended at a leaf
}
