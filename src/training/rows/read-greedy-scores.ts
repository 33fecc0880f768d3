import type { Db } from '../../postgres/database.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import { readGreedySiblings } from '../../projections/training-pool/read-greedy-siblings.ts';
import type { BatchReward } from './batch-rows.ts';
import { readWalks } from './read-record.ts';
import { totalOf } from './reward-columns.ts';

/**
 * Reads the score of the greedy rollout that each group is compared with (ReMax): the sum of its rewards by the weights of the
 * batch, whose estimator asks for it. @param rewardsOf the rewards of trees by step, or else by rollout, as those of the batch
 * are read. @returns tree of the group → score; groups without a greedy rollout are left out.
 */
export async function readGreedyScores(
  db: Db,
  policyId: string,
  trees: readonly string[],
  rewardsOf: (trees: readonly string[]) => Promise<ReadonlyMap<string, readonly BatchReward[]>>,
): Promise<ReadonlyMap<string, number>> {
  const siblings = await readGreedySiblings(db, policyId, trees);
  const walks = new Map(
    (
      await readWalks(
        db,
        siblings.map(({ rolloutId }) => rolloutId),
      )
    ).map((walk) => [walk.rolloutId, walk]),
  );
  const paths = await readPaths(
    db,
    [...walks.values()].map(({ leafStepId }) => leafStepId),
  );
  const rewards = await rewardsOf([...new Set(siblings.map(({ siblingTreeId }) => siblingTreeId))]);
  return new Map(
    siblings.flatMap(({ treeId, rolloutId }) => {
      const walk = walks.get(rolloutId);
      if (!walk) return [];
      const path = paths.get(walk.leafStepId) ?? [];
      const own = path.slice(path.indexOf(walk.fromStepId) + 1);
      const score = [...own, rolloutId].reduce((sum, owner) => sum + totalOf(rewards.get(owner) ?? []), 0);
      return [[treeId, score] as const];
    }),
  );
}
