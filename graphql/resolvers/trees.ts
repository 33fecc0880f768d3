import { type GraphQLResolveInfo, getArgumentValues, isObjectType } from 'graphql';
import { readTaskTotals } from '../../src/projections/analysis/choose-tasks.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { STEP_FIELDS, type StepField, type StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { readReturnVariances } from '../../src/projections/step-tree/read-trees.ts';
import { bounded } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { datasetFilter, revisionFilter, trajectoryFilter } from '../filters.ts';
import type { DivergenceResolvers, TaskResolvers, TreeResolvers } from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { mapped, one, readFrom } from '../loaders/batch.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';
import { loadedBy } from '../loaders/loaded-by.ts';
import { selectedFields } from '../selected-fields.ts';
import { annotationsOf } from './annotations.ts';
import { connectCalls } from './calls.ts';
import { connectDatasets, connectRevisions, connectTrajectories, scopedTo } from './lists.ts';
import { outlineOf } from './outline.ts';

const WHOLE_LIMIT = 2_000; // steps of a tree that is asked for whole; the cost limit counts with it
const PART_LIMIT = 10_000; // steps of one part

const returnVariance = loadedBy((db) => mapped((ids) => readReturnVariances(db, ids)));
const taskTotals = loadedBy((db) => one(readFrom(db)(readTaskTotals), ({ taskId }) => taskId));

export const Tree: TreeResolvers = {
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  forgotten: ({ id }, _, context) => forgottenStream(context).load(id),
  annotations: ({ id }, _, context) => annotationsOf(context, 'tree', id, id),
  rootId: ({ rootStepId }) => rootStepId,
  root: ({ id: treeId, rootStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  size: async ({ id }, _, { loaders }) => (await loaders.treeSize.load(id)) ?? { steps: 0, depth: 0, leaves: 0 },
  returnVariance: ({ id }, _, context) => returnVariance(context).load(id),
  steps: async ({ id: treeId }, { first, after }, context, info) => {
    const asked = selectedFields(info);
    const of = (field: StepField) => asked.has(field) || (asked.has('tokenTexts') && TEXTS_OF_TOKENS.includes(field));
    const fields = STEP_FIELDS.filter(of);
    const whole = typeof first !== 'number';
    const limit = whole ? WHOLE_LIMIT + 1 : bounded('first', first, PART_LIMIT);
    const steps = await context.loaders.stepsOfTree.load({ treeId, afterOffset: after ?? -1, limit, fields });
    if (whole && steps.length > WHOLE_LIMIT) throw tooLarge(treeId);
    await readAheadOfSteps(treeId, steps, context, info);
    return steps as unknown as readonly StepRecord[]; // of a step's fields the executor reads only those that are asked for
  },
  outline: ({ id }, _, context) => outlineOf(id, context),
  leaves: ({ id }, _, { loaders }) => loaders.leaves.load(id),
  rollouts: ({ id }, _, { loaders }) => loaders.rolloutsOfTree.load(id),
  trajectories: ({ id }, args, context) =>
    connectTrajectories(args, scopedTo(trajectoryFilter(args.filter), 'treeId', id), context),
  revisions: ({ id }, args, context) => connectRevisions(args, { ...revisionFilter(args.filter), treeId: id }, context),
  datasets: ({ id }, args, context) => connectDatasets(args, scopedTo(datasetFilter(args.filter), 'treeId', id), context),
  calls: ({ id }, args, context) => connectCalls(id, args, context),
  judgements: ({ id }, _, { loaders }) => loaders.judgements.load(id),
  simulations: async ({ id }, _, { loaders }) => (await loaders.backups.load(id)) ?? 0,
  divergences: ({ id }, _, { loaders }) => loaders.divergences.load(id),
  largeTexts: largeTextsOf,
};

const TEXTS_OF_TOKENS: readonly StepField[] = ['tokens', 'response', 'policySpans', 'call'];

export const Task: TaskResolvers = {
  totals: async ({ id }, _, context) => {
    const totals = await taskTotals(context).load(id);
    if (totals === null) throw new Error(`the totals of task ${id} are missing: a task is known by a tree`);
    return totals;
  },
};

export const Divergence: DivergenceResolvers = { largeTexts: largeTextsOf };

/** A part never looks like the whole. */
function tooLarge(treeId: string): Error {
  return refusal(
    'TREE_TOO_LARGE',
    `the tree ${treeId} has more than ${WHOLE_LIMIT} steps; read it in parts: steps(first: ${WHOLE_LIMIT}, after: <logOffset of the last step received>)`,
  );
}

/** Reads, for all steps of a tree at once, the lists that the query asks of each, in parallel. */
async function readAheadOfSteps(
  treeId: string,
  steps: Iterable<OfTree>,
  { loaders }: Context,
  info: GraphQLResolveInfo,
): Promise<void> {
  const asked = selectedFields(info);
  const ahead = (list: { readAhead(records: readonly OfTree[]): Promise<void> }) => list.readAhead([...steps]);
  await Promise.all([
    asked.has('rewards') && ahead(loaders.rewardsOfStep),
    asked.has('historyImage') && ahead(loaders.historyImage),
    asked.has('toolCalls') && ahead(loaders.toolCalls),
    ...simulationsAsked(info).map((simulations) => loaders.statistics.readAhead({ treeId, simulations })),
  ]);
}

/** The values of `asOfSimulation` that the query asks `statistics` for; null stands for none, the statistics of now. */
function simulationsAsked(info: GraphQLResolveInfo): (number | null)[] {
  const type = info.schema.getType('Step');
  const definition = isObjectType(type) ? type.getFields().statistics : undefined;
  if (!definition) return [];
  const nodes = selectedFields(info).get('statistics') ?? [];
  const values = nodes.map((node) => getArgumentValues(definition, node, info.variableValues).asOfSimulation);
  return [...new Set(values.map((value) => (typeof value === 'number' ? value : null)))];
}
