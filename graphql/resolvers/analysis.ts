import type { GraphQLResolveInfo } from 'graphql';
import { BOOTSTRAP_DEFAULTS, type Bootstrap } from '../../src/domain/evaluation/bootstrap-interval.ts';
import { firstDivergence } from '../../src/domain/tree/first-divergence.ts';
import type { Db } from '../../src/postgres/database.ts';
import {
  type AggregateFilter,
  type AggregatePart,
  type Aggregate as AggregateRecord,
  aggregate,
  keyOf,
} from '../../src/projections/analysis/aggregate.ts';
import { compareTaskResults } from '../../src/projections/analysis/compare-task-results.ts';
import type { TrajectoryRecord } from '../../src/projections/rewards/read-trajectories.ts';
import { readRunIdsOf } from '../../src/projections/runs/read-runs.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { argumentId } from '../argument-id.ts';
import { bounded, PAGE_LIMIT } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { aggregateFilter, NAMED } from '../filters.ts';

import type * as input from '../generated/types.ts';
import { wholePath } from '../loaders/path-loader.ts';
import type { RunComparisonModel, TrajectoryDivergenceModel } from '../models.ts';
import { selectedFields } from '../selected-fields.ts';

const PARTS: readonly AggregatePart[] = ['rollouts', 'steps', 'tools', 'components', 'images'];
/** What the counts of rollouts hold. */
const COUNTED: ReadonlySet<string> = new Set(['rollouts', 'finished', 'successes', 'successRate', '__typename']);

/** Answers `Query.aggregate`. @throws BAD_USER_INPUT. */
export async function aggregateRollouts(
  { by, filter, first, after }: input.RequireFields<input.QueryAggregateArgs, 'first'>,
  { sources: { db } }: Context,
  info: GraphQLResolveInfo,
): Promise<readonly AggregateRecord[]> {
  const limit = bounded('first', first, PAGE_LIMIT);
  const asked = selectedFields(info);
  const ofRollouts = selectedFields({ fieldNodes: asked.get('rollouts') ?? [], fragments: info.fragments });
  const counts = [...ofRollouts.keys()].every((field) => COUNTED.has(field));
  const ofImages = selectedFields({ fieldNodes: asked.get('images') ?? [], fragments: info.fragments });
  const parts = PARTS.filter((part) => asked.has(part)).map((part) => (part === 'rollouts' && counts ? 'counts' : part));
  if (ofImages.has('images')) parts.push('differing');
  const groups = await aggregate(
    db,
    by,
    await ofRuns(db, aggregateFilter(filter)),
    new Set(parts.length === 0 ? ['counts'] : parts),
  );
  const from = typeof after === 'string' ? groups.findIndex((group) => keyOf(group) === after) + 1 : 0;
  if (typeof after === 'string' && from === 0)
    throw refusal('BAD_USER_INPUT', 'after must be the key of a group of this list', { argument: 'after' });
  return groups.slice(from, from + limit);
}

/** Names the runs of a filter that names neither runs nor tasks: what is summed up is bounded. @throws BAD_USER_INPUT. */
async function ofRuns(db: Db, filter: AggregateFilter): Promise<AggregateFilter> {
  if (filter.runIds !== undefined || filter.taskIds !== undefined) return filter;
  const runIds = await readRunIdsOf(db, filter, NAMED + 1);
  if (runIds.length <= NAMED) return { ...filter, runIds };
  throw refusal('BAD_USER_INPUT', `more than ${NAMED} runs are of that policy and environment; name runs, or tasks`, {
    argument: 'filter',
  });
}

export const Aggregate: input.AggregateResolvers = {
  key: keyOf,
  run: ({ runId }, _, { loaders }) => (runId === null ? null : loaders.run.load(runId)),
  policy: ({ policyId, policyVersion }) =>
    policyId === null || policyVersion === null ? null : { id: policyId, version: policyVersion },
};

export const PairedDifference: input.PairedDifferenceResolvers = { mean: ({ otherMean }) => otherMean };

const RUNS = 20; // compared at once
const RESAMPLES = 10_000;

/** Answers `Query.compare`. @throws BAD_USER_INPUT. */
export async function compareRuns(
  { runs, confidence, resamples, seed }: input.RequireFields<input.QueryCompareArgs, 'confidence' | 'resamples' | 'seed'>,
  { sources: { db }, loaders }: Context,
): Promise<readonly RunComparisonModel[]> {
  const ids = [...new Set(runs.map((id) => argumentId('runs', id)))];
  if (ids.length < 2 || ids.length > RUNS)
    throw refusal('BAD_USER_INPUT', `runs must name 2 to ${RUNS} different runs, not ${ids.length}`, { argument: 'runs' });
  if (!(confidence > 0 && confidence < 1))
    throw refusal('BAD_USER_INPUT', `confidence lies between 0 and 1, not ${confidence}`, { argument: 'confidence' });
  const bootstrap: Bootstrap = { ...BOOTSTRAP_DEFAULTS, confidence, resamples: bounded('resamples', resamples, RESAMPLES), seed };
  const records = await Promise.all(
    ids.map(async (id) => {
      const run = await loaders.run.load(id);
      if (run === null) throw refusal('BAD_USER_INPUT', `there is no run ${id}`, { argument: 'runs' });
      return run;
    }),
  );
  const recordOf = new Map(records.map((run) => [run.id, run]));
  return (await compareTaskResults(db, ids, bootstrap)).flatMap(({ runId, baselineId, ...comparison }) => {
    const [run, baseline] = [recordOf.get(runId), recordOf.get(baselineId)];
    return run && baseline ? [{ run, baseline, ...comparison }] : [];
  });
}

/** Answers `Query.divergence`. @throws BAD_USER_INPUT where a rollout has no trajectory. */
export async function divergenceOf(
  trajectories: readonly Promise<TrajectoryRecord | null>[],
  ids: readonly string[],
  { loaders }: Context,
): Promise<TrajectoryDivergenceModel | null> {
  const [one, other] = await Promise.all(
    trajectories.map(async (loading, place): Promise<readonly StepRecord[]> => {
      const trajectory = await loading;
      const argument = place === 0 ? 'a' : 'b';
      if (trajectory === null)
        throw refusal('BAD_USER_INPUT', `the rollout ${ids[place]} is not known, or goes on: it has no trajectory yet`, {
          argument,
        });
      return loaders.path.load(wholePath({ treeId: trajectory.treeId, id: trajectory.leafStepId }));
    }),
  );
  if (!one || !other) throw new Error('two rollouts have two paths');
  const found = firstDivergence(one.map(walked), other.map(walked));
  if (found === null) return null;
  const { depth, kind, common } = found;
  return {
    depth: Math.max(0, depth - 1),
    kind,
    common: common === null ? null : (one[common] ?? null),
    a: one[depth] ?? null,
    b: other[depth] ?? null,
  };
}

/** A text over 64 KiB is compared by its digest. */
function walked({ id, action, observation, blobs }: StepRecord) {
  return { id, action: blobs?.action?.blob ?? action, observation: blobs?.observation?.blob ?? observation };
}
