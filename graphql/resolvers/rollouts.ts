import type { RewardRecord } from '../../src/projections/rewards/read-rewards.ts';
import type { TrajectoryRecord } from '../../src/projections/rewards/read-trajectories.ts';
import { assertListLimit } from '../assert-list-limit.ts';
import type { Context } from '../context.ts';
import { datasetFilter } from '../filters.ts';
import type { ComponentReturn, RolloutResolvers, TrajectoryResolvers } from '../generated/types.ts';
import { wholePath } from '../loaders/path-loader.ts';
import { annotationsOf } from './annotations.ts';
import { connectDatasets, scopedTo } from './lists.ts';
import { readPath } from './paths.ts';

export const Rollout: RolloutResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  imageTotals: async ({ id, treeId }, _, { loaders }) => {
    const [totals] = await loaders.imageTotalsOfRollout.load({ id, treeId });
    if (!totals) throw new Error(`the totals of rollout ${id} are missing: the statement returns a row for each id`);
    return totals;
  },
  leafId: ({ leafStepId }) => leafStepId,
  leaf: ({ treeId, leafStepId: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  return: async ({ id, treeId }, _, { loaders }) => (await loaders.return.load({ id, treeId }))?.value ?? null,
  rewards: async ({ id, treeId }, { component }, { loaders }) =>
    ofComponent(await loaders.rewardsOfRollout.load({ id, treeId }), component),
  trajectory: ({ id, treeId }, _, { loaders }) => loaders.trajectory.load({ id, treeId }),
  annotations: ({ id, treeId }, _, context) => annotationsOf(context, 'rollout', id, treeId),
  sample: ({ id, treeId }, _, { loaders }) => loaders.sample.load({ id, treeId }),
};

export const Trajectory: TrajectoryResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  leafId: ({ leafStepId }) => leafStepId,
  leaf: ({ treeId, leafStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  length: async ({ treeId, leafStepId: id, rollout }, _, { loaders }) =>
    (await loaders.step.load({ treeId, id }))?.depth ?? rollout.stepCount ?? 0,
  steps: ({ treeId, leafStepId: id }, part, context) => readPath({ treeId, id }, part, context),
  datasets: ({ id, treeId }, args, context) =>
    connectDatasets(args, scopedTo(scopedTo(datasetFilter(args.filter), 'treeId', treeId), 'rolloutId', id), context),
  rewards: async (trajectory, { component }, context) =>
    assertListLimit(ofComponent(await rewardsAlong(trajectory, context), component)),
  returns: async (trajectory, _, context) => byComponent(await rewardsAlong(trajectory, context)),
};

/** Keeps the rewards of one component; all of them where none is named. */
export function ofComponent(rewards: readonly RewardRecord[], component: string | null | undefined): readonly RewardRecord[] {
  return component === null || component === undefined ? rewards : rewards.filter((reward) => reward.component === component);
}

/** The rewards that make the return: those on the steps of the path, root first, then those on the rollout as a whole. */
async function rewardsAlong({ id, treeId, leafStepId }: TrajectoryRecord, { loaders }: Context): Promise<RewardRecord[]> {
  const path = await loaders.path.load(wholePath({ treeId, id: leafStepId }));
  const [own, ...ofSteps] = await Promise.all([
    loaders.rewardsOfRollout.load({ id, treeId }),
    ...path.map((step) => loaders.rewardsOfStep.of({ id: step.id, treeId })),
  ]);
  return [...ofSteps.flat(), ...own];
}

function byComponent(rewards: readonly RewardRecord[]): ComponentReturn[] {
  const sums = new Map<string, { component: string; value: number; rewards: number }>();
  for (const { component, value } of rewards) {
    const sum = sums.get(component) ?? { component, value: 0, rewards: 0 };
    sum.value += value;
    sum.rewards++;
    sums.set(component, sum);
  }
  return [...sums.values()].sort((a, b) => (a.component < b.component ? -1 : 1));
}
