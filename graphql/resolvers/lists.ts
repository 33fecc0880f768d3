import type { Ordering } from '../../src/postgres/keyset-cursor.ts';
import { DATASET_ORDERINGS, type DatasetFilter } from '../../src/projections/datasets/read-datasets.ts';
import { REVISION_ORDERING, type RevisionFilter } from '../../src/projections/revisions/read-revisions.ts';
import { TRAJECTORY_ORDERINGS, type TrajectoryFilter } from '../../src/projections/rewards/read-trajectories.ts';
import { RUN_ORDERINGS, type RunFilter } from '../../src/projections/runs/read-runs.ts';
import { ROLLOUT_ORDERINGS, type RolloutFilter } from '../../src/projections/step-tree/read-rollouts.ts';
import { TREE_ORDERINGS, type TreeFilter } from '../../src/projections/step-tree/read-trees.ts';
import { type Connection, connect, type PageArguments } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type { ListLoader } from '../loaders/list-loader.ts';

type Ordered<Orderings> = PageArguments & { readonly orderBy: keyof Orderings };

/** Answers a list that hangs both on Query and on a run, a tree or an experiment. */
function connectList<Filter, Item>(
  { page, count }: ListLoader<Filter, Item>,
  ordering: Ordering,
  args: PageArguments,
  filter: Filter,
): Promise<Connection<Item>> {
  return connect(
    args,
    (asked) => page.load({ filter, ordering, page: asked }),
    () => count.load(filter),
  );
}

export function connectRuns(args: Ordered<typeof RUN_ORDERINGS>, filter: RunFilter, { loaders }: Context) {
  return connectList(loaders.runs, RUN_ORDERINGS[args.orderBy], args, filter);
}

export function connectTrees(args: Ordered<typeof TREE_ORDERINGS>, filter: TreeFilter, { loaders }: Context) {
  if (args.orderBy === 'RETURN_VARIANCE_DESC' && filter.runId === undefined)
    throw refusal('BAD_USER_INPUT', 'orderBy: RETURN_VARIANCE_DESC orders the trees of a run; name it in filter.run', {
      argument: 'orderBy',
    });
  return connectList(loaders.trees, TREE_ORDERINGS[args.orderBy], args, filter);
}

export function connectRollouts(args: Ordered<typeof ROLLOUT_ORDERINGS>, filter: RolloutFilter, { loaders }: Context) {
  return connectList(loaders.rollouts, ROLLOUT_ORDERINGS[args.orderBy], args, filter);
}

export function connectTrajectories(args: Ordered<typeof TRAJECTORY_ORDERINGS>, filter: TrajectoryFilter, { loaders }: Context) {
  return connectList(loaders.trajectories, TRAJECTORY_ORDERINGS[args.orderBy], args, filter);
}

export function connectRevisions(args: PageArguments, filter: RevisionFilter, { loaders }: Context) {
  return connectList(loaders.revisions, REVISION_ORDERING, args, filter);
}

export function connectDatasets(args: Ordered<typeof DATASET_ORDERINGS>, filter: DatasetFilter, { loaders }: Context) {
  return connectList(loaders.datasets, DATASET_ORDERINGS[args.orderBy], args, filter);
}

/** Narrows a filter to what the list hangs on. @throws BAD_USER_INPUT when the filter names another one itself. */
export function scopedTo<Filter extends object, Key extends keyof Filter & string>(
  filter: Filter,
  key: Key,
  id: Filter[Key],
): Filter {
  if (filter[key] !== undefined && filter[key] !== id)
    throw refusal(
      'BAD_USER_INPUT',
      `filter: this list holds only what belongs to ${String(id)}; leave ${key.replace(/Id$/, '')} out`,
      {
        argument: 'filter',
      },
    );
  return { ...filter, [key]: id };
}
