import type DataLoader from 'dataloader';
import { formatPosition } from '../../src/log/position.ts';
import type { Page } from '../../src/postgres/keyset.ts';
import { countVerifications, readVerifications } from '../../src/postgres/verifications.ts';
import { countLabels } from '../../src/projections/annotations/read-annotations.ts';
import { ANOMALIES_BY_OFFSET, countAnomalies, readAnomalies } from '../../src/projections/journal/read-anomalies.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { readProjects } from '../../src/projections/owners/read-owners.ts';
import { countQuarantine, QUARANTINE_ORDERING, readQuarantine } from '../../src/projections/read-quarantine.ts';
import { countReplays, REPLAY_ORDERING, readReplayPages } from '../../src/projections/replays/read-replays.ts';
import { countExperiments, EXPERIMENT_ORDERINGS, readExperiments } from '../../src/projections/runs/read-experiments.ts';
import { readLineages } from '../../src/projections/training-pool/read-lineages.ts';
import { inSpan } from '../../src/runtime/tracing.ts';
import type { StoredVerification } from '../../src/usecases/verify/verification.ts';
import { argumentId, optionalId } from '../argument-id.ts';
import { asOf } from '../as-of/as-of.ts';
import { assertListLimit } from '../assert-list-limit.ts';
import { connect } from '../connection.ts';
import { refusal } from '../errors.ts';
import {
  anomalyFilter,
  datasetFilter,
  quarantineFilter,
  replayFilter,
  rolloutFilter,
  runFilter,
  trajectoryFilter,
  treeFilter,
} from '../filters.ts';
import type { QueryResolvers } from '../generated/types.ts';
import { measureLag } from '../live/lag.ts';
import { logEnd } from '../live/log-end.ts';
import { waitFor } from '../live/wait-for.ts';
import { aggregateRollouts, compareRuns, divergenceOf } from './analysis.ts';
import { annotationById, annotationOfTree, connectAnnotations } from './annotations.ts';
import { recall, trace } from './lineage.ts';
import { connectDatasets, connectRollouts, connectRuns, connectTrajectories, connectTrees } from './lists.ts';
import { readPath } from './paths.ts';
import { connectSamples, connectSteps, connectTasks, connectToolCalls } from './searchable-lists.ts';

const LABELS = 500; // of the most frequent labels

export const Query: QueryResolvers = {
  experiment: (_, { id }, { loaders }) => loaders.experiment.load(argumentId('id', id)),
  experiments: (_, args, { sources: { db } }) =>
    connect(
      args,
      async (page) => only(await readExperiments(db, ['all'], EXPERIMENT_ORDERINGS[args.orderBy], page)),
      async () => only(await countExperiments(db, ['all'])),
    ),
  run: (_, { id }, { loaders }) => loaders.run.load(argumentId('id', id)),
  runs: (_, args, context) => connectRuns(args, runFilter(args.filter), context),
  tree: (_, { id }, { loaders }) => loaders.tree.load(argumentId('id', id)),
  trees: (_, args, context) => connectTrees(args, treeFilter(args.filter), context),
  step: (_, { id, tree }, { loaders }) => byId('id', id, tree, loaders.stepById, loaders.step),
  path: async (_, { leaf, tree, ...part }, context) => {
    const step = await byId('leaf', leaf, tree, context.loaders.stepById, context.loaders.step);
    return step ? readPath(step, part, context) : [];
  },
  rollout: (_, { id, tree }, { loaders }) => byId('id', id, tree, loaders.rolloutById, loaders.rollout),
  rollouts: (_, args, context) => connectRollouts(args, rolloutFilter(args.filter), context),
  trajectory: (_, { rollout, tree }, { loaders }) => byId('rollout', rollout, tree, loaders.trajectoryById, loaders.trajectory),
  trajectories: (_, args, context) => connectTrajectories(args, trajectoryFilter(args.filter), context),
  steps: (_, args, context) => connectSteps(args, context),
  toolCalls: (_, args, context) => connectToolCalls(args, context),
  samples: (_, args, context) => connectSamples(args, context),
  tasks: (_, args, context) => connectTasks(args, context),
  aggregate: (_, args, context, info) => aggregateRollouts(args, context, info),
  compare: (_, args, context) => compareRuns(args, context),
  divergence: (_, { a, b, aTree, bTree }, context) => {
    const { trajectoryById, trajectory } = context.loaders;
    return divergenceOf(
      [byId('a', a, aTree, trajectoryById, trajectory), byId('b', b, bTree, trajectoryById, trajectory)],
      [a, b],
      context,
    );
  },
  revision: (_, { id, tree }, { loaders }) => byId('id', id, tree, loaders.revisionById, loaders.revision),
  dataset: (_, { id }, { loaders }) => loaders.dataset.load(argumentId('id', id)),
  datasets: (_, args, context) => connectDatasets(args, datasetFilter(args.filter), context),
  annotation: (_, { id, tree }, context) => byId('id', id, tree, annotationById(context), annotationOfTree(context)),
  annotations: (_, args, context) => connectAnnotations(args, context),
  annotationLabels: (_, { run }, { sources: { db } }) => countLabels(db, optionalId('run', run) ?? null, LABELS),
  policy: async (_, { id }, { sources: { db } }) => (await readLineages(db, [id]))[0] ?? null,
  policies: async (_, _args, { sources: { db } }) => assertListLimit(await readLineages(db, 'all')),
  batch: (_, { id }, { loaders }) => loaders.batch.load(argumentId('id', id)),
  trace: (_, { id, tree }, { sources: { db } }) => trace(db, id, optionalId('tree', tree) ?? null),
  recall: (_, { what }, { sources: { db } }) => recall(db, what),
  anomalies: (_, args, { sources: { db } }) => {
    const filter = anomalyFilter(args.filter);
    return connect(
      args,
      async (page) => only(await readAnomalies(db, [filter], ANOMALIES_BY_OFFSET, page)),
      async () => only(await countAnomalies(db, [filter])),
    );
  },
  quarantine: (_, args, { sources: { db } }) => {
    const filter = quarantineFilter(args.filter);
    return connect(
      args,
      async (page) => only(await readQuarantine(db, [filter], QUARANTINE_ORDERING, page)),
      async () => only(await countQuarantine(db, [filter])),
    );
  },
  replays: (_, args, { sources: { db } }) => {
    const filter = replayFilter(args.filter);
    return connect(
      args,
      async (page) => only(await readReplayPages(db, [filter], REPLAY_ORDERING, page)),
      async () => only(await countReplays(db, [filter])),
    );
  },
  verifications: (_, args, { principal, sources: { keys } }) => {
    const sees = principal.projects === 'all'; // faults name what they are of, in any project
    return connect(
      args,
      // the report is written by `keepVerification` alone
      async (page) => (sees ? ((await readVerifications(keys, page)) as Page<StoredVerification>) : NONE),
      async () => (sees ? countVerifications(keys) : 0),
    );
  },
  viewer: (_, _args, { principal: { principal, name, scopes, project, projects, replaces = [] } }) => ({
    principal,
    name,
    scopes: [...scopes],
    project,
    replaces: [...replaces],
    projects: projects === 'all' ? null : [...projects],
  }),
  projects: async (_, _args, { sources: { db } }) =>
    (await readProjects(db)).map(({ project: name, ...totals }) => ({ name, ...totals })),
  position: async (_, _args, { sources }) => formatPosition(await logEnd(sources)),
  lag: (_, _args, { sources }) => measureLag(sources),
  waitFor: (_, { position, timeoutMs }, { sources, signal, moment, turn }) => {
    if (moment !== null) throw refusal('BAD_USER_INPUT', `nothing is waited for as of ${moment}; put asOf within waitFor`);
    return turn.whileAway(() =>
      inSpan('wait for projections', { attributes: { 'espalier.position': position } }, () =>
        waitFor(sources, position, timeoutMs, signal),
      ),
    );
  },
  asOf: (_, args, context, info) => asOf(args, context, info),
};

/** Loads something of a tree by the id that the caller gave, and by its tree where it gave that too. */
function byId<Item>(
  argument: string,
  id: string,
  tree: string | null | undefined,
  alone: DataLoader<string, Item | null>,
  inTree: DataLoader<OfTree, Item | null, string>,
): Promise<Item | null> {
  const treeId = optionalId('tree', tree);
  const named = argumentId(argument, id);
  return treeId === undefined ? alone.load(named) : inTree.load({ treeId, id: named });
}

const NONE = { rows: [], hasPrevious: false, hasNext: false };

function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('one query returns one answer');
  return item;
}
