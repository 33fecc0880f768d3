import { type RawBuilder, sql } from 'kysely';
import { exactSum } from '../../postgres/exact-sum.ts';
import { type StepFilter, stepConditions } from '../analysis/step-query.ts';
import { tokensAsJson, tokensIn } from '../step-tree/token-bytes.ts';
import {
  annotationColumns,
  type ColumnType,
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

/** Texts are searched page by page by GraphQL: who reads a whole table filters it. */
type Filter = TableFilter & Omit<StepFilter, 'runId' | 'text' | 'under' | 'levels'>;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  column('step_id', 'utf8', sql`steps.step_id::text`, 'Id of the step.'),
  column('parent_step_id', 'utf8', sql`steps.parent_step_id::text`, 'The step before; null for the root.'),
  column('rollout_id', 'utf8', sql`steps.rollout_id::text`, 'The rollout that took it; null in a search.'),
  column('depth', 'int32', sql`steps.depth`, 'How many actions lead here; the root has 0.'),
  ...TASK,
  textColumn('response', 'What the policy answered, as it was.'),
  textColumn('thought', 'The part of the answer that is thought.'),
  textColumn('action', 'The action that was taken.'),
  textColumn('observation', 'What the environment answered.'),
  column('well_formatted', 'bool', sql`steps.well_formatted`, 'The answer had the form that was asked for.'),
  column('executable', 'bool', sql`steps.executable`, 'The environment could carry the action out.'),
  column('termination', 'utf8', sql`steps.termination`, '`none`, `terminated` or `truncated`.'),
  column(
    'reward',
    'float64',
    sql`(select ${exactSum(sql`w.value`)} from rewards w where w.step_id = steps.step_id and w.tree_id = steps.tree_id)`,
    'Sum of the rewards in force on the step; null where it has none.',
  ),
  column('policy_id', 'utf8', sql`steps.policy_spans -> 0 ->> 'policyId'`, 'The policy that sampled its first token.'),
  column('policy_version', 'int32', sql`(steps.policy_spans -> 0 ->> 'version')::int`, 'Version of that policy.'),
  tokensColumn('token_ids', 'int32s', 'ids', 4, 'The sampled tokens as the engine gave them.'),
  tokensColumn('log_probs', 'float32s', 'logProbs', 4, 'The log-probability of each of them.'),
  tokensColumn('token_mask', 'uint8s', 'mask', 1, '1 where the policy wrote the token, 0 where it was given.'),
  column('prompt_tokens', 'int32', sql`steps.prompt_tokens`, 'Tokens of the prompt.'),
  column('completion_tokens', 'int32', sql`steps.completion_tokens`, 'Tokens of the answer.'),
  column('finish_reason', 'utf8', sql`steps.finish_reason`, 'Why the policy stopped writing.'),
  column('policy_ms', 'float64', sql`steps.policy_ms`, 'Milliseconds of waiting for the policy.'),
  column('environment_ms', 'float64', sql`steps.environment_ms`, 'Milliseconds of waiting for the environment.'),
  column('visits', 'int64', ofSearch(sql`n.visits`), 'How many back-ups of a search passed it.'),
  column('value_sum', 'float64', ofSearch(sql`n.value_sum`), 'The sum of their values.'),
  column(
    'admissible_actions',
    'texts',
    sql`steps.admissible`,
    'The actions that were open after it, where the environment names them.',
    {
      payload: true,
      bytes: sql`coalesce(pg_column_size(steps.admissible), 0) * 3`, // as compressed
    },
  ),
  column('state_hash', 'utf8', sql`steps.state_hash`, "Hash of the environment's state behind the action."),
  column('occurred_at', 'instant', microseconds('steps.occurredAt'), 'When it was taken.'),
  ...annotationColumns(sql`n.step_id = steps.step_id and n.tree_id = steps.tree_id`),
  FORGOTTEN,
];

/** Steps, those of searches too: what `steps` of GraphQL lists. */
export const stepsTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'steps',
  summary: 'Steps with their texts, tokens and rewards',
  query(db, filter) {
    const { treeId: _tree, taskId: _task, environment: _of, split: _split, taskDepth: _depth, runIds: _runs, ...own } = filter;
    let query = db.selectFrom('steps').innerJoin('trees', 'trees.treeId', 'steps.treeId');
    for (const condition of stepConditions(own)) query = query.where(sql<boolean>`${condition}`);
    return query as unknown as TableQuery;
  },
  keys: [
    { column: 'steps.logOffset', type: 'integer' },
    { column: 'steps.stepId', type: 'uuid' },
  ],
  columns: COLUMNS,
  from: ['step-tree', 'rewards', 'search-statistics', 'annotations'],
  ofStreams: ({ sampleState, sampleReason }) => sampleState === undefined && sampleReason === undefined,
};

function textColumn(name: string, says: string): TableColumn {
  const text = sql.ref(`steps.${name}`);
  const large = sql`coalesce((steps.blobs -> ${sql.lit(name)} ->> 'size')::bigint, 0)`;
  return column(name, 'utf8', sql`${text}`, says, { payload: true, large: name, bytes: sql`(octet_length(${text}) + ${large})` });
}

function tokensColumn(
  name: string,
  type: ColumnType,
  field: 'ids' | 'logProbs' | 'mask',
  width: number,
  says: string,
): TableColumn {
  // a third more than the elements: they travel in base64
  const bytes: RawBuilder<number> = sql`coalesce(${tokensIn('steps', field)}, 0) * ${sql.lit(width)} * 4 / 3`;
  return column(name, type, sql`(${tokensAsJson('steps')} -> ${sql.lit(field)})`, says, { payload: true, bytes });
}

function ofSearch(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select ${value} from node_statistics n where n.step_id = steps.step_id and n.tree_id = steps.tree_id)`;
}
