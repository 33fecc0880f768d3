import { sql } from 'kysely';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** A tree with everything that scoring its finished rollouts looks at. */
export interface ScorableTree {
  readonly treeId: string;
  readonly alias: string;
  readonly goal: string;
  readonly steps: ReadonlyMap<string, ScorableStep>;
  readonly rollouts: readonly { readonly rolloutId: string; readonly leafStepId: string; readonly success: boolean | null }[];
  readonly rewards: readonly CurrentReward[];
}

export interface ScorableStep {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  readonly executable: boolean;
  /** Fields that lie in the blob store. */
  readonly blobs: Readonly<Record<string, BlobRef>> | null;
}

/** A reward as it is now: its last judgement. */
export interface CurrentReward {
  readonly rewardId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  readonly value: number;
  readonly scorer: string;
  readonly revision: string;
  readonly revisions: number;
}

/**
 * Reads the trees of a run one by one, in the order of their ids. Rollouts that failed or were cancelled have no outcome to
 * score.
 */
export async function* readScorable(db: Db, runId: string): AsyncGenerator<ScorableTree> {
  const trees = await rowsWhere(db, 'trees', { runId }, ['treeId', 'alias', 'goal'], ['treeId']);
  for (const { treeId, alias, goal } of trees) {
    const steps = await rowsWhere(db, 'steps', { treeId }, [
      'stepId',
      'parentStepId',
      'response',
      'action',
      'observation',
      'executable',
      'blobs',
    ]);
    const rollouts = await rowsWhere(
      db,
      'rollouts',
      { treeId, outcome: ['terminated', 'truncated'] },
      ['rolloutId', 'leafStepId', 'success'],
      ['ordinal', 'rolloutId'],
    );
    const rewards = await sql<CurrentReward>`
      select r.reward_id, r.step_id, r.rollout_id, r.component, r.value, r.revisions,
        coalesce(v.scorer, r.scorer) as scorer, coalesce(v.scorer_revision, r.scorer_revision) as revision
      from rewards r left join lateral (
        select scorer, scorer_revision from reward_revisions where reward_id = r.reward_id and tree_id = r.tree_id order by ordinal desc limit 1
      ) v on true
      where r.tree_id = ${treeId} order by r.reward_id`.execute(db);
    yield {
      treeId,
      alias,
      goal,
      steps: new Map(steps.map((step) => [step.stepId, step])),
      rollouts: rollouts as ScorableTree['rollouts'], // each has ended at a leaf
      rewards: rewards.rows,
    };
  }
}
