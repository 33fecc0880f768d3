import type { SchemaElement } from 'hyparquet';

/**
 * The columns of a Parquet export: one row per trajectory, steps nested as a list of structs, so that a reader unnests what it needs and
 * shared texts compress within the row group. Lists are the standard three levels. Ids are text: every reader shows and joins them.
 */
export const PARQUET_SCHEMA: SchemaElement[] = root([
  text('trajectory_id'),
  text('tree_id'),
  text('run_id'),
  text('task_id'),
  text('environment'),
  text('server_fingerprint'),
  text('task_alias'),
  text('goal'),
  optional(int32('task_depth')),
  optional(text('split')),
  text('policy_id'),
  int32('policy_version'),
  int32('ordinal'),
  int64('seed'),
  text('outcome'),
  optional(boolean('success')),
  double('return'),
  list('rewards', rewardStruct()),
  int32('step_count'),
  instant('started_at'),
  instant('finished_at'),
  text('instruction'),
  text('first_observation'),
  list(
    'steps',
    struct('element', [
      text('step_id'),
      optional(text('rollout_id')),
      int32('depth'),
      text('response'),
      text('thought'),
      text('action'),
      text('observation'),
      text('termination'),
      boolean('well_formatted'),
      boolean('executable'),
      int32('weight'),
      double('reward'),
      list('rewards', rewardStruct()),
      optional(text('state_hash')),
      list('policy_spans', struct('element', [int32('from'), int32('to'), text('policy_id'), int32('version')])),
      optional(int32('prompt_tokens')),
      optional(int32('completion_tokens')),
      optional(text('finish_reason')),
      optional(list('token_ids', [{ name: 'element', type: 'INT32', repetition_type: 'REQUIRED' }])),
      optional(list('log_probs', [{ name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' }])),
      optional(list('token_mask', [{ name: 'element', type: 'INT32', repetition_type: 'REQUIRED' }])),
    ]),
  ),
]);

/** The names of the top columns, in file order. */
export const PARQUET_COLUMNS = [
  'trajectory_id',
  'tree_id',
  'run_id',
  'task_id',
  'environment',
  'server_fingerprint',
  'task_alias',
  'goal',
  'task_depth',
  'split',
  'policy_id',
  'policy_version',
  'ordinal',
  'seed',
  'outcome',
  'success',
  'return',
  'rewards',
  'step_count',
  'started_at',
  'finished_at',
  'instruction',
  'first_observation',
  'steps',
] as const;

type Subtree = SchemaElement[];

function rewardStruct(): Subtree {
  return struct('element', [text('component'), double('value')]);
}
function root(columns: readonly Subtree[]): Subtree {
  return [{ name: 'root', num_children: columns.length }, ...columns.flat()];
}
function struct(name: string, fields: readonly Subtree[]): Subtree {
  return [{ name, repetition_type: 'REQUIRED', num_children: fields.length }, ...fields.flat()];
}
function list(name: string, element: Subtree): Subtree {
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ];
}
function optional([first, ...rest]: Subtree): Subtree {
  return first ? [{ ...first, repetition_type: 'OPTIONAL' }, ...rest] : [];
}
function text(name: string): Subtree {
  return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' }, repetition_type: 'REQUIRED' }];
}
function boolean(name: string): Subtree {
  return [{ name, type: 'BOOLEAN', repetition_type: 'REQUIRED' }];
}
function int32(name: string): Subtree {
  return [{ name, type: 'INT32', repetition_type: 'REQUIRED' }];
}
function int64(name: string): Subtree {
  return [{ name, type: 'INT64', repetition_type: 'REQUIRED' }];
}
function double(name: string): Subtree {
  return [{ name, type: 'DOUBLE', repetition_type: 'REQUIRED' }];
}
function instant(name: string): Subtree {
  return [{ name, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' }];
}
