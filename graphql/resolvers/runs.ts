import type DataLoader from 'dataloader';
import { readPublishedMetrics } from '../../src/projections/analysis/read-published-metrics.ts';
import { readEvaluations } from '../../src/projections/evaluations/read-evaluations.ts';
import { HISTORY_IMAGE_ORDERINGS } from '../../src/projections/images/read-history-images.ts';
import { countDifferingImages, readImageTotalsOfRuns } from '../../src/projections/images/read-image-totals.ts';
import { readRenderSpecsOfRuns } from '../../src/projections/images/read-render-specs.ts';
import { readOwners } from '../../src/projections/owners/read-owners.ts';
import { readDrift } from '../../src/projections/prompts/read-drift.ts';
import { readRenderers } from '../../src/projections/renderers/read-renderers.ts';
import { readReplays } from '../../src/projections/replays/read-replays.ts';
import { originOf, readForksOfRuns } from '../../src/projections/runs/read-forks.ts';
import { readRecorders } from '../../src/projections/runs/read-recorders.ts';
import {
  type LastReturn,
  readFailureReasons,
  readLastReturns,
  readRunActivity,
} from '../../src/projections/runs/read-run-activity.ts';
import { readDepthTotals, readRunTotals } from '../../src/projections/runs/read-run-totals.ts';
import { bounded, connect } from '../connection.ts';
import { datasetFilter, revisionFilter, rolloutFilter, trajectoryFilter, treeFilter } from '../filters.ts';
import type { ForkOriginResolvers, RunEnvironmentResolvers, RunResolvers } from '../generated/types.ts';
import { many, one, readFrom } from '../loaders/batch.ts';
import { forgottenRun } from '../loaders/forgotten-loaders.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { connectDatasets, connectRevisions, connectRollouts, connectTrajectories, connectTrees, scopedTo } from './lists.ts';

const METRICS_LIMIT = 5_000;
const FAILURES = 200; // reasons: no more failed rollouts are read
const LAST_RETURNS = 500;

const runOf = ({ runId }: { readonly runId: string }) => runId;
const totals = loadedBy((db) => one((ids) => readRunTotals(db, ids), runOf));
const activity = loadedBy((db, { moment }) =>
  one((ids) => readRunActivity(db, ids, moment === null ? 'now' : 'at a moment'), runOf),
);
const failures = loadedBy((db) => many((ids) => readFailureReasons(db, ids), runOf));
/** A loader for each number that a request asks for. */
const lastReturns = loadedBy((db) => {
  const loaders = new Map<number, DataLoader<string, readonly LastReturn[]>>();
  return (last: number) => {
    const loader = loaders.get(last) ?? many((ids) => readLastReturns(db, ids, last), runOf);
    loaders.set(last, loader);
    return loader;
  };
});
const imageTotals = loadedBy((db) => one(readFrom(db)(readImageTotalsOfRuns), ({ ofId }) => ofId));
const differingImages = loadedBy((db) => one((ids) => countDifferingImages(db, ids), runOf));
const renderSpecs = loadedBy((db) => many((ids) => readRenderSpecsOfRuns(db, ids), runOf));
const depthTotals = loadedBy((db) => many((ids) => readDepthTotals(db, ids), runOf));
const evaluation = loadedBy((db) => one((ids) => readEvaluations(db, ids), runOf));
const forks = loadedBy((db) => many((ids) => readForksOfRuns(db, ids), runOf));
const drift = loadedBy((db) => one((ids) => readDrift(db, ids), runOf));
const replays = loadedBy((db) => many((ids) => readReplays(db, ids), runOf));

const recorders = loadedBy((db) => many((ids) => readRecorders(db, ids), runOf));

const owner = loadedBy((db) =>
  one(
    async (ids) => [...(await readOwners(db, 'runs', ids)).values()],
    ({ stream }) => stream,
  ),
);

const renderers = loadedBy((db) => many((ids) => readRenderers(db, ids), runOf));

export const RunEnvironment: RunEnvironmentResolvers = {
  renderer: async ({ runId, environment }, _, context) =>
    (await renderers(context).load(runId)).find((each) => each.environment === environment) ?? null,
};

export const Run: RunResolvers = {
  environments: ({ id, environments }) => environments.map((each) => ({ ...each, runId: id })),
  project: async ({ id }, _, context) => (await owner(context).load(id))?.project ?? null,
  owner: async ({ id }, _, context) => (await owner(context).load(id))?.principal ?? null,
  forgotten: ({ id }, _, context) => forgottenRun(context).load(id),
  experiment: ({ experimentId }, _, { loaders }) => (experimentId === null ? null : loaders.experiment.load(experimentId)),
  totals: async ({ id }, _, context) => known(await totals(context).load(id), id),
  activity: async ({ id }, _, context) =>
    (await activity(context).load(id)) ?? { events: 0, lastEventAt: null, eventsPerSecond: null },
  failures: async ({ id }, { first }, context) => (await failures(context).load(id)).slice(0, bounded('first', first, FAILURES)),
  lastReturns: async ({ id }, { last }, context) =>
    (await lastReturns(context)(bounded('last', last, LAST_RETURNS)).load(id)).map(({ value }) => value),
  imageTotals: async ({ id }, _, context) => ({
    ...known(await imageTotals(context).load(id), id),
    images: async () => known(await differingImages(context).load(id), id).images,
  }),
  historyImages: ({ id }, args, { loaders }) =>
    connect(
      args,
      (page) => loaders.historyImages.page.load({ filter: id, ordering: HISTORY_IMAGE_ORDERINGS[args.orderBy], page }),
      () => loaders.historyImages.count.load(id),
    ),
  renderSpecs: ({ id }, _, context) => renderSpecs(context).load(id),
  publishedMetrics: ({ id }, _, { sources: { db } }) => readPublishedMetrics(db, id),
  successByDepth: ({ id }, _, context) => depthTotals(context).load(id),
  evaluation: ({ id }, _, context) => evaluation(context).load(id),
  forkOf: ({ config }) => originOf(config),
  drift: async ({ id }, _, context) => (await drift(context).load(id)) ?? { runId: id, steps: 0, first: null },
  forks: async ({ id }, _, context) => (await forks(context).load(id)).map(({ run }) => run),
  replays: ({ id }, _, context) => replays(context).load(id),
  recorders: async ({ id }, _, context) =>
    (await recorders(context).load(id)).map(({ recorderId, ...each }) => ({ id: recorderId, ...each })),
  metrics: ({ id }, { name, last }, { loaders }) =>
    loaders.metrics.load({ runId: id, metric: name ?? null, last: bounded('last', last, METRICS_LIMIT) }),
  trees: ({ id }, args, context) => connectTrees(args, scopedTo(treeFilter(args.filter), 'runId', id), context),
  rollouts: ({ id }, args, context) => connectRollouts(args, scopedTo(rolloutFilter(args.filter), 'runId', id), context),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, scopedTo(trajectoryFilter(args.filter), 'runId', id), context),
  revisions: ({ id }, args, context) => connectRevisions(args, { ...revisionFilter(args.filter), runId: id }, context),
  datasets: ({ id }, args, context) => connectDatasets(args, scopedTo(datasetFilter(args.filter), 'runId', id), context),
};

export const ForkOrigin: ForkOriginResolvers = {
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  step: ({ treeId, stepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
};

function known<Totals>(totals: Totals | null, id: string): Totals {
  if (totals === null) throw new Error(`the totals of run ${id} are missing: the statement returns a row for each id`);
  return totals;
}
