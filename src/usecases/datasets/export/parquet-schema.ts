import {
  binary,
  boolean,
  type Column,
  double,
  each,
  float,
  instant,
  int32,
  int64,
  list,
  optional,
  type ParquetShape,
  struct,
  text,
} from './parquet-file.ts';
import type { Pictures } from './pictures.ts';

/** What a file of a query holds: a column has one form for all its rows. */
type FileForm = Pick<Pictures, 'any' | 'prompts' | 'structured'>;

/**
 * The columns of a Parquet export: one row per trajectory, steps nested as a list of structs, so that a reader unnests what it
 * needs and shared texts compress within the row group. Lists are the standard three levels. Ids are text: every reader shows and
 * joins them.
 */
export const trajectoryRows = ({ any, prompts: withPrompts, structured }: FileForm): ParquetShape => ({
  name: structured ? 'trajectories/5' : withPrompts ? 'trajectories/4' : 'trajectories/3',
  columns: [
    ...each(text, 'trajectory_id', 'tree_id', 'run_id', 'task_id', 'environment', 'server_fingerprint', 'task_alias', 'goal'),
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
    text('labels'),
    list('annotations', annotationStruct()),
    int32('step_count'),
    instant('started_at'),
    instant('finished_at'),
    text('instruction'),
    text('first_observation'),
    ...(withPrompts ? [pictureList()] : []),
    list(
      'steps',
      struct('element', [
        text('step_id'),
        optional(text('rollout_id')),
        int32('depth'),
        ...each(text, 'response', 'thought', 'action', 'observation', 'termination'),
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
        optional(list('token_ids', int32('element'))),
        optional(list('log_probs', float('element'))),
        optional(list('token_mask', int32('element'))),
        ...(withPrompts ? [optional(promptStruct({ any, structured }))] : []),
        ...(structured ? [text('reasoning'), list('tool_calls', toolCall('element'))] : []),
      ]),
    ),
  ],
});

/**
 * The prompt that a step was asked with, null where none is recorded: the first `kept` messages of the prompt of the step before
 * in the row, then `messages`. `sha256` is the digest that was recorded when it was sent.
 */
function promptStruct({ any, structured }: Omit<FileForm, 'prompts'>): Column {
  const part = struct('element', [
    text('type'),
    optional(text('text')),
    optional(text('image_id')),
    ...(any ? [optional(double('image_factor'))] : []),
    ...(structured ? [optional(toolCall('tool_call'))] : []),
  ]);
  const message = [
    text('role'),
    list('parts', part),
    ...(structured ? [optional(text('tool_call_id')), optional(text('name'))] : []),
  ];
  return struct('prompt', [
    text('sha256'),
    optional(text('template')),
    int32('kept'),
    list('messages', struct('element', message)),
    ...(structured ? [optional(text('tools'))] : []),
  ]);
}

function toolCall(name: string): Column {
  return struct(name, [optional(text('id')), text('name'), text('arguments')]);
}

function pictureList(): Column {
  return list('images', struct('element', [text('id'), double('factor'), int32('width'), int32('height'), binary('png')]));
}

/** What was said of the trajectory, or of the step whose id is there. */
function annotationStruct(): Column {
  const said = [optional(text('label')), optional(double('score')), text('note'), text('principal'), instant('added_at')];
  return struct('element', [text('annotation_id'), optional(text('step_id')), ...said]);
}

function rewardStruct(): Column {
  return struct('element', [text('component'), double('value')]);
}
