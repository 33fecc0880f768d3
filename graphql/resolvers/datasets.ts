import { cutText } from '../../src/domain/text/cut-text.ts';
import { EXAMPLE_ORDERING, type ExampleRecord } from '../../src/projections/dataset-sources/read-examples.ts';
import { DatasetError } from '../../src/usecases/datasets/dataset-error.ts';
import { releasedText } from '../../src/usecases/datasets/release/release-dataset.ts';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { exampleFilter, revisionFilter, trajectoryFilter, treeFilter } from '../filters.ts';
import type { DatasetExampleResolvers, DatasetResolvers } from '../generated/types.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';
import { annotationsOf } from './annotations.ts';
import { connectRevisions, connectTrajectories, connectTrees, scopedTo } from './lists.ts';

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
  trees: ({ id }, args, context) => connectTrees(args, scopedTo(treeFilter(args.filter), 'datasetId', id), context),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, scopedTo(trajectoryFilter(args.filter), 'datasetId', id), context),
  revisions: ({ id }, args, context) => connectRevisions(args, scopedTo(revisionFilter(args.filter), 'datasetId', id), context),
};

export const DatasetExample: DatasetExampleResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  trajectory: ({ treeId, goodRolloutId: id }, _, { loaders }) => loaders.trajectory.load({ treeId, id }),
  badTrajectory: ({ treeId, badRolloutId: id }, _, { loaders }) => (id === null ? null : loaders.trajectory.load({ treeId, id })),
  annotations: ({ datasetId, line, treeId }, _, context) => annotationsOf(context, 'row', `${datasetId} ${line}`, treeId),
  revision: ({ treeId, revisionId: id }, _, { loaders }) => (id === null ? null : loaders.revision.load({ treeId, id })),
  text: async (example, { characters }, context) => {
    if (characters < 1 || characters > LONGEST)
      throw refusal('BAD_USER_INPUT', `characters is ${characters}; it is from 1 to ${LONGEST}`);
    const text = await textOf(example, context);
    return { text: cutText(text, characters), length: text.length };
  },
};

const LONGEST = 100_000; // characters of an example in an answer
const STEPS = 5_000; // of a tree that is read for one of its examples

async function textOf(example: ExampleRecord, context: Context): Promise<string> {
  const { sources, loaders } = context;
  const [dataset, tree] = await Promise.all([loaders.dataset.load(example.datasetId), loaders.tree.load(example.treeId)]);
  if (!dataset || !tree) throw refusal('NOT_ON_RECORD', `the release or the tree of line ${example.line} is not on record`);
  if (await forgottenStream(context).load(tree.id)) throw refusal('FORGOTTEN', `texts of the tree ${tree.id} are forgotten`);
  const steps = (await loaders.treeSize.load(tree.id))?.steps ?? 0;
  if (steps > STEPS)
    throw refusal('TREE_TOO_LARGE', `the tree ${tree.id} has ${steps} steps; of more than ${STEPS} the file alone has the lines`);
  try {
    return await releasedText(sources.db, sources.blobs, dataset, example);
  } catch (error) {
    if (!(error instanceof DatasetError)) throw error;
    throw refusal(error.code === 'forgotten' ? 'FORGOTTEN' : 'CONFLICT', error.message);
  }
}
