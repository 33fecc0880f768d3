import { DATASET_ORDERINGS, type DatasetFilter, type DatasetRecord } from '../../src/projections/datasets/read-datasets.ts';
import { REVISION_ORDERING, type RevisionFilter, type RevisionRecord } from '../../src/projections/revisions/read-revisions.ts';
import {
  TRAJECTORY_ORDERINGS,
  type TrajectoryFilter,
  type TrajectoryRecord,
} from '../../src/projections/rewards/read-trajectories.ts';
import { RUN_ORDERINGS, type RunFilter, type RunRecord } from '../../src/projections/runs/read-runs.ts';
import { ROLLOUT_ORDERINGS, type RolloutFilter, type RolloutRecord } from '../../src/projections/step-tree/read-rollouts.ts';
import { TREE_ORDERINGS, type TreeFilter, type TreeRecord } from '../../src/projections/step-tree/read-trees.ts';
import { type Connection, connect, type PageArguments } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';

type Ordered<Orderings> = PageArguments & { readonly orderBy: keyof Orderings };

/** The lists that hang both on Query and on a run, a tree or an experiment. */
export function connectRuns(
  args: Ordered<typeof RUN_ORDERINGS>,
  filter: RunFilter,
  { loaders }: Context,
): Promise<Connection<RunRecord>> {
  const ordering = RUN_ORDERINGS[args.orderBy];
  return connect(
    args,
    (page) => loaders.runs.page.load({ filter, ordering, page }),
    () => loaders.runs.count.load(filter),
  );
}

export function connectTrees(
  args: Ordered<typeof TREE_ORDERINGS>,
  filter: TreeFilter,
  { loaders }: Context,
): Promise<Connection<TreeRecord>> {
  const ordering = TREE_ORDERINGS[args.orderBy];
  if (args.orderBy === 'RETURN_VARIANCE_DESC' && filter.runId === undefined)
    throw refusal('BAD_USER_INPUT', 'orderBy: RETURN_VARIANCE_DESC orders the trees of a run; name it in filter.run', {
      argument: 'orderBy',
    });
  return connect(
    args,
    (page) => loaders.trees.page.load({ filter, ordering, page }),
    () => loaders.trees.count.load(filter),
  );
}

export function connectRollouts(
  args: Ordered<typeof ROLLOUT_ORDERINGS>,
  filter: RolloutFilter,
  { loaders }: Context,
): Promise<Connection<RolloutRecord>> {
  const ordering = ROLLOUT_ORDERINGS[args.orderBy];
  return connect(
    args,
    (page) => loaders.rollouts.page.load({ filter, ordering, page }),
    () => loaders.rollouts.count.load(filter),
  );
}

export function connectTrajectories(
  args: Ordered<typeof TRAJECTORY_ORDERINGS>,
  filter: TrajectoryFilter,
  { loaders }: Context,
): Promise<Connection<TrajectoryRecord>> {
  const ordering = TRAJECTORY_ORDERINGS[args.orderBy];
  return connect(
    args,
    (page) => loaders.trajectories.page.load({ filter, ordering, page }),
    () => loaders.trajectories.count.load(filter),
  );
}

export function connectRevisions(
  args: PageArguments,
  filter: RevisionFilter,
  { loaders }: Context,
): Promise<Connection<RevisionRecord>> {
  return connect(
    args,
    (page) => loaders.revisions.page.load({ filter, ordering: REVISION_ORDERING, page }),
    () => loaders.revisions.count.load(filter),
  );
}

export function connectDatasets(
  args: Ordered<typeof DATASET_ORDERINGS>,
  filter: DatasetFilter,
  { loaders }: Context,
): Promise<Connection<DatasetRecord>> {
  const ordering = DATASET_ORDERINGS[args.orderBy];
  return connect(
    args,
    (page) => loaders.datasets.page.load({ filter, ordering, page }),
    () => loaders.datasets.count.load(filter),
  );
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
