import { type RawBuilder, sql } from 'kysely';
import { type StepFilter, stepConditions } from '../answers/step-query.ts';
import { tokensAsJson, tokensIn } from '../step-tree/token-bytes.ts';
import { microseconds } from './instant.ts';
import type { TableFilter, TableQuery, TreeTable } from './table.ts';
import type { ColumnType, TableColumn } from './table-column.ts';
import { annotationColumns, FORGOTTEN, TASK, WHERE } from './tree-columns.ts';

/** Texts are searched page by page by GraphQL: who reads a whole table filters it. */
type Filter = TableFilter & Omit<StepFilter, 'runId' | 'text' | 'under' | 'levels'>;

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  { name: 'step_id', type: 'utf8', value: sql`steps.step_id::text`, says: 'Id of the step.' },
  { name: 'parent_step_id', type: 'utf8', value: sql`steps.parent_step_id::text`, says: 'The step before; null for the root.' },
  { name: 'rollout_id', type: 'utf8', value: sql`steps.rollout_id::text`, says: 'The rollout that took it; null in a search.' },
  { name: 'depth', type: 'int32', value: sql`steps.depth`, says: 'How many actions lead here; the root has 0.' },
  ...TASK,
  textColumn('response', 'What the policy answered, as it was.'),
  textColumn('thought', 'The part of the answer that is thought.'),
  textColumn('action', 'The action that was taken.'),
  textColumn('observation', 'What the environment answered.'),
  { name: 'well_formatted', type: 'bool', value: sql`steps.well_formatted`, says: 'The answer had the form that was asked for.' },
  { name: 'executable', type: 'bool', value: sql`steps.executable`, says: 'The environment could carry the action out.' },
  { name: 'termination', type: 'utf8', value: sql`steps.termination`, says: '`none`, `terminated` or `truncated`.' },
  {
    name: 'reward',
    type: 'float64',
    value: sql`(select sum(w.value order by w.reward_id) from rewards w where w.step_id = steps.step_id)`,
    says: 'Sum of the rewards in force on the step; null where it has none.',
  },
  {
    name: 'policy_id',
    type: 'utf8',
    value: sql`steps.policy_spans -> 0 ->> 'policyId'`,
    says: 'The policy that sampled its first token.',
  },
  {
    name: 'policy_version',
    type: 'int32',
    value: sql`(steps.policy_spans -> 0 ->> 'version')::int`,
    says: 'Version of that policy.',
  },
  tokensColumn('token_ids', 'int32s', 'ids', 4, 'The sampled tokens as the engine gave them.'),
  tokensColumn('log_probs', 'float32s', 'logProbs', 4, 'The log-probability of each of them.'),
  tokensColumn('token_mask', 'uint8s', 'mask', 1, '1 where the policy wrote the token, 0 where it was given.'),
  { name: 'prompt_tokens', type: 'int32', value: sql`steps.prompt_tokens`, says: 'Tokens of the prompt.' },
  { name: 'completion_tokens', type: 'int32', value: sql`steps.completion_tokens`, says: 'Tokens of the answer.' },
  { name: 'finish_reason', type: 'utf8', value: sql`steps.finish_reason`, says: 'Why the policy stopped writing.' },
  { name: 'policy_ms', type: 'float64', value: sql`steps.policy_ms`, says: 'Milliseconds of waiting for the policy.' },
  {
    name: 'environment_ms',
    type: 'float64',
    value: sql`steps.environment_ms`,
    says: 'Milliseconds of waiting for the environment.',
  },
  { name: 'visits', type: 'int64', value: ofSearch(sql`n.visits`), says: 'How many back-ups of a search passed it.' },
  { name: 'value_sum', type: 'float64', value: ofSearch(sql`n.value_sum`), says: 'The sum of their values.' },
  {
    name: 'admissible_actions',
    type: 'texts',
    value: sql`steps.admissible`,
    says: 'The actions that were open after it, where the environment names them.',
    payload: true,
    bytes: sql`coalesce(pg_column_size(steps.admissible), 0) * 3`, // as compressed
  },
  { name: 'state_hash', type: 'utf8', value: sql`steps.state_hash`, says: "Hash of the environment's state behind the action." },
  { name: 'occurred_at', type: 'instant', value: microseconds('steps.occurredAt'), says: 'When it was taken.' },
  ...annotationColumns(sql`n.step_id = steps.step_id`),
  FORGOTTEN,
];

/** Steps, those of searches too: what `steps` of GraphQL lists. */
export const stepsTable: TreeTable<Filter> = {
  kind: 'trees',
  name: 'steps',
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
  const column = sql.ref(`steps.${name}`);
  const large = sql`coalesce((steps.blobs -> ${sql.lit(name)} ->> 'size')::bigint, 0)`;
  return {
    name,
    type: 'utf8',
    value: sql`${column}`,
    says,
    payload: true,
    large: name,
    bytes: sql`(octet_length(${column}) + ${large})`,
  };
}

function tokensColumn(
  name: string,
  type: ColumnType,
  field: 'ids' | 'logProbs' | 'mask',
  width: number,
  says: string,
): TableColumn {
  const value = sql`(${tokensAsJson('steps')} -> ${sql.lit(field)})`;
  // a third more than the elements: they travel in base64
  const bytes: RawBuilder<number> = sql`coalesce(${tokensIn('steps', field)}, 0) * ${sql.lit(width)} * 4 / 3`;
  return { name, type, value, says, payload: true, bytes };
}

function ofSearch(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select ${value} from node_statistics n where n.step_id = steps.step_id)`;
}
