import { sql } from 'kysely';
import { chosenTrajectories, type TrajectoryFilter } from '../rewards/read-trajectories.ts';
import {
  annotationColumns,
  column,
  FORGOTTEN,
  microseconds,
  TASK,
  type TableColumn,
  type TableFilter,
  type TableQuery,
  type TreeTable,
  WHERE,
} from './table.ts';

type Filter = TableFilter & Omit<TrajectoryFilter, 'runId' | 'finished'>;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  column('rollout_id', 'utf8', sql`rollouts.rollout_id::text`, 'Id of the rollout.'),
  column('ordinal', 'int32', sql`rollouts.ordinal`, 'Place among the rollouts of its tree.'),
  ...TASK,
  column('policy_id', 'utf8', sql`rollouts.policy_id`, 'The policy that it began with.'),
  column('policy_version', 'int32', sql`rollouts.policy_version`, 'Version of that policy.'),
  column('outcome', 'utf8', sql`rollouts.outcome`, '`terminated`, `truncated`, `failed` or `cancelled`.'),
  column('success', 'bool', sql`rollouts.success`, 'What the environment says of it.'),
  column(
    'return',
    'float64',
    sql`returns.value`,
    'Sum of the rewards in force along the path and on it; null where there is none.',
  ),
  column(
    'length',
    'int32',
    sql`(select s.depth from steps s where s.step_id = rollouts.leaf_step_id and s.tree_id = rollouts.tree_id)`,
    'How many actions the path from the root has.',
  ),
  column('steps', 'int32', sql`rollouts.steps`, 'How many of them the rollout took itself.'),
  column('from_step_id', 'utf8', sql`rollouts.from_step_id::text`, 'The step that it began at.'),
  column('leaf_step_id', 'utf8', sql`rollouts.leaf_step_id::text`, 'The step that it ended at.'),
  column('seed', 'int64', sql`rollouts.seed`, 'Its seed.'),
  column('started_at', 'instant', microseconds('rollouts.startedAt'), 'When it started.'),
  column('finished_at', 'instant', microseconds('rollouts.finishedAt'), 'When it finished.'),
  column('reason', 'utf8', sql`rollouts.reason`, 'What was said at its end.', { payload: true }),
  ...annotationColumns(sql`n.rollout_id = rollouts.rollout_id and n.tree_id = rollouts.tree_id`),
  FORGOTTEN,
];

/** Finished rollouts, each with its return: what `trajectories` of GraphQL lists. */
export const trajectoriesTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'trajectories',
  summary: 'Finished rollouts with their returns',
  query: (db, filter) =>
    chosenTrajectories(db, filter).innerJoin('trees', 'trees.treeId', 'rollouts.treeId') as unknown as TableQuery,
  keys: [
    { column: 'rollouts.ordinal', type: 'integer' },
    { column: 'rollouts.rolloutId', type: 'uuid' },
  ],
  columns: COLUMNS,
  from: ['step-tree', 'rewards', 'annotations'],
  ofStreams: ({ datasetId }) => datasetId === undefined,
};
