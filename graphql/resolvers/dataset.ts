import { EXAMPLE_ORDERING } from '../../src/projections/dataset-sources/read-examples.ts';
import { connect } from '../connection.ts';
import { exampleFilter, revisionFilter, trajectoryFilter, treeFilter } from '../filters.ts';
import type { DatasetExampleResolvers, DatasetResolvers } from '../generated/types.ts';
import { annotationsOf } from './annotation.ts';
import { connectRevisions, connectTrajectories, connectTrees, hangingOn } from './lists.ts';

export const Dataset: DatasetResolvers = {
  // A run that went to quarantine is left out: the release stays readable.
  runs: async ({ runs: ids }, _, { loaders }) => {
    const runs = await Promise.all(ids.map((id) => loaders.run.load(id)));
    return runs.filter((run) => run !== null);
  },
  policies: ({ id }, _, { loaders }) => loaders.policiesOfDataset.load(id),
  evaluations: ({ id }, _, { loaders }) => loaders.evaluationsOfDataset.load(id),
  examples: ({ id: datasetId }, args, { loaders }) => {
    const filter = { ...exampleFilter(args.filter), datasetId };
    return connect(
      args,
      (page) => loaders.examples.page.load({ filter, ordering: EXAMPLE_ORDERING, page }),
      () => loaders.examples.count.load(filter),
    );
  },
  trees: ({ id }, args, context) => connectTrees(args, hangingOn(treeFilter(args.filter), 'datasetId', id), context),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, hangingOn(trajectoryFilter(args.filter), 'datasetId', id), context),
  revisions: ({ id }, args, context) => connectRevisions(args, hangingOn(revisionFilter(args.filter), 'datasetId', id), context),
};

export const DatasetExample: DatasetExampleResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  trajectory: ({ goodRolloutId }, _, { loaders }) => loaders.trajectory.load(goodRolloutId),
  badTrajectory: ({ badRolloutId }, _, { loaders }) => (badRolloutId === null ? null : loaders.trajectory.load(badRolloutId)),
  annotations: ({ datasetId, line, treeId }, _, context) => annotationsOf(context, 'row', `${datasetId} ${line}`, treeId),
  revision: ({ revisionId }, _, { loaders }) => (revisionId === null ? null : loaders.revision.load(revisionId)),
};
