import type { Db } from '../../postgres/database.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import { readGreedySiblings } from '../../projections/training-pool/read-greedy-siblings.ts';
import type { BatchReward } from './batch-rows.ts';
import { readWalks } from './read-record.ts';
import { totalOf } from './reward-columns.ts';

/**
 * Reads the score of the greedy rollout that each group is compared with (ReMax): the sum of its rewards by the weights of the
 * batch, whose estimator asks for it. @param rewardsOf the rewards of trees by the key of their step, or else of their rollout, as
 * those of the batch are read. @returns tree of the group → score; groups without a greedy rollout are left out.
 */
export async function readGreedyScores(
  db: Db,
  policyId: string,
  trees: readonly string[],
  rewardsOf: (trees: readonly string[]) => Promise<ReadonlyMap<string, readonly BatchReward[]>>,
): Promise<ReadonlyMap<string, number>> {
  const siblings = await readGreedySiblings(db, policyId, trees);
  const read = await readWalks(
    db,
    siblings.map(({ siblingTreeId: treeId, rolloutId: id }) => ({ treeId, id })),
  );
  const walks = new Map(read.map((walk) => [keyInTree(walk.treeId, walk.rolloutId), walk]));
  const paths = await readPaths(
    db,
    read.map(({ treeId, leafStepId: id }) => ({ treeId, id })),
  );
  const rewards = await rewardsOf([...new Set(siblings.map(({ siblingTreeId }) => siblingTreeId))]);
  return new Map(
    siblings.flatMap(({ treeId, siblingTreeId, rolloutId }) => {
      const keyOf = (id: string) => keyInTree(siblingTreeId, id);
      const walk = walks.get(keyOf(rolloutId));
      if (!walk) return [];
      const path = paths.get(keyOf(walk.leafStepId)) ?? [];
      const own = path.slice(path.indexOf(walk.fromStepId) + 1);
      const score = [...own, rolloutId].reduce((sum, owner) => sum + totalOf(rewards.get(keyOf(owner)) ?? []), 0);
      return [[treeId, score] as const];
    }),
  );
}
