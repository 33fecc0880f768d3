import { sql } from 'kysely';
import { chosenTrajectories, type TrajectoryFilter } from '../rewards/read-trajectories.ts';
import { microseconds } from './instant.ts';
import type { TableFilter, TableQuery, TreeTable } from './table.ts';
import type { TableColumn } from './table-column.ts';
import { annotationColumns, FORGOTTEN, TASK, WHERE } from './tree-columns.ts';

type Filter = TableFilter & Omit<TrajectoryFilter, 'runId' | 'finished'>;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  { name: 'rollout_id', type: 'utf8', value: sql`rollouts.rollout_id::text`, says: 'Id of the rollout.' },
  { name: 'ordinal', type: 'int32', value: sql`rollouts.ordinal`, says: 'Place among the rollouts of its tree.' },
  ...TASK,
  { name: 'policy_id', type: 'utf8', value: sql`rollouts.policy_id`, says: 'The policy that it began with.' },
  { name: 'policy_version', type: 'int32', value: sql`rollouts.policy_version`, says: 'Version of that policy.' },
  { name: 'outcome', type: 'utf8', value: sql`rollouts.outcome`, says: '`terminated`, `truncated`, `failed` or `cancelled`.' },
  { name: 'success', type: 'bool', value: sql`rollouts.success`, says: 'What the environment says of it.' },
  { name: 'return', type: 'float64', value: sql`returns.value`, says: 'Sum of the rewards in force along the path and on it.' },
  {
    name: 'length',
    type: 'int32',
    value: sql`(select s.depth from steps s where s.step_id = rollouts.leaf_step_id)`,
    says: 'How many actions the path from the root has.',
  },
  { name: 'steps', type: 'int32', value: sql`rollouts.steps`, says: 'How many of them the rollout took itself.' },
  { name: 'from_step_id', type: 'utf8', value: sql`rollouts.from_step_id::text`, says: 'The step that it began at.' },
  { name: 'leaf_step_id', type: 'utf8', value: sql`rollouts.leaf_step_id::text`, says: 'The step that it ended at.' },
  { name: 'seed', type: 'int64', value: sql`rollouts.seed`, says: 'Its seed.' },
  { name: 'started_at', type: 'instant', value: microseconds('rollouts.startedAt'), says: 'When it started.' },
  { name: 'finished_at', type: 'instant', value: microseconds('rollouts.finishedAt'), says: 'When it finished.' },
  { name: 'reason', type: 'utf8', value: sql`rollouts.reason`, says: 'What was said at its end.', payload: true },
  ...annotationColumns(sql`n.rollout_id = rollouts.rollout_id`),
  FORGOTTEN,
];

/** Finished rollouts, each with its return: what `trajectories` of GraphQL lists. */
export const trajectoriesTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'trajectories',
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
