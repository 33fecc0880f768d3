import { originOf } from '../../src/projections/runs/read-forks.ts';
import { bounded } from '../connection.ts';
import { datasetFilter, revisionFilter, rolloutFilter, runFilter, trajectoryFilter, treeFilter } from '../filters.ts';
import type { ExperimentResolvers, ForkOriginResolvers, RunResolvers } from '../generated/types.ts';
import {
  connectDatasets,
  connectRevisions,
  connectRollouts,
  connectRuns,
  connectTrajectories,
  connectTrees,
  hangingOn,
} from './lists.ts';

const METRICS_LIMIT = 5_000;

export const Experiment: ExperimentResolvers = {
  runs: ({ id }, args, context) => connectRuns(args, hangingOn(runFilter(args.filter), 'experimentId', id), context),
};

export const Run: RunResolvers = {
  experiment: ({ experimentId }, _, { loaders }) => (experimentId === null ? null : loaders.experiment.load(experimentId)),
  totals: async ({ id }, _, { loaders }) => known(await loaders.runTotals.load(id), id),
  imageTotals: async ({ id }, _, { loaders }) => known(await loaders.imageTotals.load(id), id),
  renderSpecs: ({ id }, _, { loaders }) => loaders.renderSpecs.load(id),
  successByDepth: ({ id }, _, { loaders }) => loaders.depthTotals.load(id),
  evaluation: ({ id }, _, { loaders }) => loaders.evaluation.load(id),
  forkOf: ({ config }) => originOf(config),
  forks: async ({ id }, _, { loaders }) => (await loaders.forksOfRun.load(id)).map(({ run }) => run),
  replays: ({ id }, _, { loaders }) => loaders.replays.load(id),
  metrics: ({ id }, { name, last }, { loaders }) =>
    loaders.metrics.load({ runId: id, metric: name ?? null, last: bounded('last', last, METRICS_LIMIT) }),
  trees: ({ id }, args, context) => connectTrees(args, hangingOn(treeFilter(args.filter), 'runId', id), context),
  rollouts: ({ id }, args, context) => connectRollouts(args, hangingOn(rolloutFilter(args.filter), 'runId', id), context),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, hangingOn(trajectoryFilter(args.filter), 'runId', id), context),
  revisions: ({ id }, args, context) => connectRevisions(args, { ...revisionFilter(args.filter), runId: id }, context),
  datasets: ({ id }, args, context) => connectDatasets(args, hangingOn(datasetFilter(args.filter), 'runId', id), context),
};

export const ForkOrigin: ForkOriginResolvers = {
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  step: ({ stepId }, _, { loaders }) => loaders.step.load(stepId),
};

function known<Totals>(totals: Totals | null, id: string): Totals {
  if (totals === null) throw new Error(`the totals of run ${id} are missing: the statement returns a row for each id`);
  return totals;
}
