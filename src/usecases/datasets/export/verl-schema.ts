import {
  binary,
  boolean,
  type Column,
  double,
  each,
  float,
  int32,
  int64,
  list,
  optional,
  type ParquetShape,
  struct,
  text,
} from './parquet-file.ts';
import type { Pictures } from './pictures.ts';

const reward = () => struct('element', [text('component'), double('value')]);
const spans = () => list('policy_spans', struct('element', [int32('from'), int32('to'), text('policy_id'), int32('version')]));
/** The chat before the first token of the row. */
const rawPrompt = (structured: boolean) => chatColumn('raw_prompt', structured);
/** A chat; with calls of tools, their results and reasoning where the file has any. */
export function chatColumn(name: string, structured: boolean): Column {
  return list(name, message('element', structured));
}
function message(name: string, structured: boolean): Column {
  const called = struct('function', [text('name'), text('arguments')]);
  const call = struct('element', [optional(text('id')), text('type'), called]);
  const more = [optional(text('reasoning_content')), optional(list('tool_calls', call))];
  const fields = [text('role'), text('content')];
  return struct(name, structured ? [...fields, ...more, optional(text('tool_call_id')), optional(text('name'))] : fields);
}
const tools = (structured: boolean): readonly Column[] => (structured ? [optional(text('tools'))] : []);
const extraInfo = () =>
  struct('extra_info', [
    optional(text('split')),
    int32('index'),
    ...each(text, 'run_id', 'task_id', 'task_alias', 'goal'),
    int64('seed'),
    text('labels'),
  ]);
const ends = (): readonly Column[] => [text('outcome'), optional(boolean('success'))];
const versions = (): readonly Column[] => [text('policy_id'), int32('param_version_start'), int32('param_version_end'), spans()];

/** Pictures as verl takes them: `<image>` in `raw_prompt` for each. Without them in a file verl leaves the texts as they are. */
const pictureColumns = (): readonly Column[] => [
  list('images', struct('element', [binary('bytes'), text('path')])),
  list('image_ids', text('element')),
  list('image_factors', double('element')),
];

/**
 * One row per trajectory, or per cut of it where the prompt of a step does not continue the tokens before it: the ids of its
 * prompt, then what was sampled and shown, one token after the other, nothing padded. `prompts` is null where the record has no
 * ids of it, and `raw_prompt` the chat of the first step either way. `response_mask` is 1 on sampled tokens, `rollout_log_probs`
 * 0 elsewhere, `step_indices` the step (from 0) of each token, `step_ends` the last sampled token of each step, which has its
 * reward in `token_level_scores`; the rollout's own is on the last of all (specification of Agent-R1, §3.2 and §3.3).
 * `cut_index` counts the rows of a trajectory from 0, `cuts` how often it was cut; `first_step` and `step_ids` say which steps
 * the row holds. `tokenised` says whether all its ids are recorded. Pictures are those of the last prompt, which begins with the
 * others.
 */
export const verlTrajectories = ({ any, structured }: Pick<Pictures, 'any' | 'structured'>): ParquetShape => ({
  name: structured ? 'verl-trajectories/4' : 'verl-trajectories/3',
  columns: [
    text('uid'),
    text('traj_uid'),
    ...each(int32, 'cut_index', 'cuts', 'first_step'),
    list('step_ids', text('element')),
    text('data_source'),
    rawPrompt(structured),
    ...tools(structured),
    text('prompt_source'),
    ...(any ? pictureColumns() : []),
    text('tokenised'),
    optional(list('prompts', int32('element'))),
    list('responses', int32('element')),
    list('response_mask', int32('element')),
    optional(list('rollout_log_probs', float('element'))),
    list('step_indices', int32('element')),
    list('step_ends', int32('element')),
    list('token_level_scores', float('element')),
    list('rewards', reward()),
    double('episode_rewards'),
    int32('episode_lengths'),
    int32('__num_turns__'),
    ...ends(),
    ...versions(),
    extraInfo(),
  ],
});

/**
 * One row per step, as Agent-R1 trains steps: the prompt that it was asked with (`prompt_source` says `recorded`, or `composed`
 * where the record holds none and the environment's chat takes its place), pictures with their ids and factors where the file has
 * any, its own tokens where they were recorded, and the numbers of its episode next to it. `step_indices` counts the steps that
 * the rollout took itself, from 0; `anchor_obs` the hash of the state before it (GiGPO); `trajectory_rewards` what belongs to the
 * rollout and to no step.
 */
export const verlSteps = ({ prompts, any, structured }: Pick<Pictures, 'prompts' | 'any' | 'structured'>): ParquetShape => ({
  name: structured ? 'verl-steps/5' : prompts ? 'verl-steps/4' : 'verl-steps/3',
  columns: [
    text('uid'),
    text('traj_uid'),
    int32('step_indices'),
    text('step_id'),
    text('data_source'),
    rawPrompt(structured),
    ...tools(structured),
    ...(prompts ? [text('prompt_source')] : []),
    ...(any ? pictureColumns() : []),
    text('response_text'),
    ...(structured ? [message('response_message', structured)] : []),
    optional(list('responses', int32('element'))),
    optional(list('response_mask', int32('element'))),
    optional(list('rollout_log_probs', float('element'))),
    double('step_reward'),
    list('rewards', reward()),
    list('trajectory_rewards', reward()),
    optional(text('anchor_obs')),
    boolean('is_action_valid'),
    text('termination'),
    double('episode_rewards'),
    int32('episode_lengths'),
    ...ends(),
    ...versions(),
    extraInfo(),
  ],
});
