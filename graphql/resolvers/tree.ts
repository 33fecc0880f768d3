import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { bounded } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { trajectoryFilter } from '../filters.ts';
import type { DivergenceResolvers, TreeResolvers } from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { connectTrajectories, hangingOn } from './lists.ts';

const WHOLE_LIMIT = 2_000; // steps of a tree that is asked for whole; the cost limit counts with it
const PART_LIMIT = 10_000; // steps of one part

export const Tree: TreeResolvers = {
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  rootId: ({ rootStepId }) => rootStepId,
  root: ({ rootStepId }, _, { loaders }) => loaders.step.load(rootStepId),
  size: async ({ id }, _, { loaders }) => (await loaders.treeSize.load(id)) ?? { steps: 0, depth: 0, leaves: 0 },
  steps: ({ id }, { first, after }, { loaders }) => {
    if (typeof first !== 'number') return wholeTree(id, after ?? -1, loaders);
    return loaders.stepsOfTree.load({ treeId: id, afterOffset: after ?? -1, limit: bounded('first', first, PART_LIMIT) });
  },
  leaves: ({ id }, _, { loaders }) => loaders.leaves.load(id),
  rollouts: ({ id }, _, { loaders }) => loaders.rolloutsOfTree.load(id),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, hangingOn(trajectoryFilter(args.filter), 'treeId', id), context),
  simulations: async ({ id }, _, { loaders }) => (await loaders.backups.load(id)) ?? 0,
  divergences: ({ id }, _, { loaders }) => loaders.divergences.load(id),
  largeTexts: largeTextsOf,
};

export const Divergence: DivergenceResolvers = { largeTexts: largeTextsOf };

/** Never a part that looks like the whole: a larger tree is refused. */
async function wholeTree(treeId: string, afterOffset: number, loaders: Context['loaders']): Promise<readonly StepRecord[]> {
  const steps = await loaders.stepsOfTree.load({ treeId, afterOffset, limit: WHOLE_LIMIT + 1 });
  if (steps.length <= WHOLE_LIMIT) return steps;
  throw refusal(
    'TREE_TOO_LARGE',
    `the tree ${treeId} has more than ${WHOLE_LIMIT} steps; read it in parts: steps(first: ${WHOLE_LIMIT}, after: <logOffset of the last step received>)`,
  );
}
