import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { PolicyMessagePart, ToolCallPart } from '../../../domain/prompts/policy-prompt.ts';
import { sharedMessages } from '../../../domain/prompts/same-message.ts';
import { callsOf, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import { unpack } from '../../../events/packed.ts';
import type { Packed } from '../../../events/schemas/values.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { type ExportTrajectory, labelLines } from './export-trajectory.ts';
import type { ByteSink, FormatEntry } from './format.ts';
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
  ParquetFile,
  type ParquetShape,
  struct,
  text,
} from './parquet-file.ts';
import type { ExportedPicture, Pictures } from './pictures.ts';
import { writeTrajectories } from './write-trajectories.ts';

/** One row per trajectory, its steps nested. */
interface ParquetFormat {
  readonly kind: 'parquet';
  readonly weights: WeightRule;
}

/** Writes trajectories as Parquet (Snappy), a bounded row group at a time. */
export class ParquetRows {
  readonly #file: ParquetFile;
  readonly #format: ParquetFormat;

  readonly #pictures: Pictures;

  constructor(sink: ByteSink, format: ParquetFormat, pictures: Pictures) {
    this.#format = format;
    this.#pictures = pictures;
    this.#file = new ParquetFile(sink, trajectoryRows(pictures));
  }

  async write(trajectory: ExportTrajectory): Promise<void> {
    const drawn = await drawnIn(trajectory, this.#pictures);
    const bytes = distinct(drawn).reduce((sum, { png }) => sum + png.length, 0);
    await this.#file.write(parquetRow(trajectory, this.#format, drawn), sizeOf(trajectory) + bytes);
  }

  /** Writes the last row group and the footer. A file without rows is a valid Parquet file. */
  finish(): Promise<void> {
    return this.#file.finish();
  }
}

/** Returns one row of the file: the columns of `trajectoryRows`. */
function parquetRow(
  trajectory: ExportTrajectory,
  format: ParquetFormat,
  drawn: readonly (readonly ExportedPicture[])[],
): Readonly<Record<string, unknown>> {
  const { head, rollout, root, steps } = trajectory;
  const weights = turnWeights(steps, rollout, format.weights);
  return {
    trajectory_id: rollout.rolloutId,
    tree_id: head.treeId,
    run_id: head.runId,
    task_id: head.taskId,
    environment: head.environment,
    server_fingerprint: head.serverFingerprint,
    task_alias: head.alias,
    goal: head.goal,
    task_depth: head.taskDepth,
    split: head.split,
    policy_id: rollout.policyId,
    policy_version: rollout.policyVersion,
    ordinal: rollout.ordinal,
    seed: BigInt(rollout.seed),
    outcome: rollout.outcome,
    success: rollout.success,
    return: trajectory.returnValue ?? Number.NaN, // a missing number, as pandas has it
    rewards: componentRows(trajectory.rewards),
    labels: labelLines(trajectory.annotations),
    annotations: trajectory.annotations.map(({ id, stepId, label, score, note, principal, addedAt }) => ({
      annotation_id: id,
      step_id: stepId,
      label,
      score,
      note,
      principal,
      added_at: addedAt,
    })),
    step_count: steps.length,
    started_at: rollout.startedAt,
    finished_at: rollout.finishedAt,
    instruction: head.instruction,
    first_observation: root.observation,
    images: distinct(drawn).map(({ id, factor, width, height, png }) => ({ id, factor, width, height, png })),
    steps: steps.map((step, i) => ({
      step_id: step.stepId,
      rollout_id: step.rolloutId,
      depth: step.depth,
      response: step.response,
      thought: step.thought,
      action: step.action,
      observation: step.observation,
      termination: step.termination,
      well_formatted: step.wellFormatted,
      executable: step.executable,
      weight: weights[i] ?? 0,
      reward: trajectory.returnValue === null ? Number.NaN : sumAmounts(Object.values(step.rewards)),
      rewards: componentRows(step.rewards),
      state_hash: step.stateHash,
      policy_spans: step.policySpans.map(({ from, to, policyId, version }) => ({ from, to, policy_id: policyId, version })),
      prompt_tokens: step.promptTokens,
      completion_tokens: step.completionTokens,
      finish_reason: step.finishReason,
      token_ids: numbers(step.tokens?.ids),
      log_probs: numbers(step.tokens?.logProbs),
      token_mask: numbers(step.tokens?.mask),
      prompt: promptRow(step.prompt, steps[i - 1]?.prompt ?? null, drawn[i] ?? []),
      reasoning: reasoningOf(step.message),
      tool_calls: callsOf(step.message).map(callRow),
    })),
  };
}

/** The pictures of the prompt of each step. */
async function drawnIn({ head, steps }: ExportTrajectory, pictures: Pictures): Promise<readonly (readonly ExportedPicture[])[]> {
  const drawn: (readonly ExportedPicture[])[] = [];
  const path: OfTree[] = [];
  for (const { stepId, prompt } of steps) {
    path.push({ treeId: head.treeId, id: stepId });
    const ids = pictureIds(prompt?.messages ?? []);
    drawn.push(ids.length === 0 ? [] : await pictures.of(ids, path));
  }
  return drawn;
}

/** Each picture at each factor once, in the order in which they were shown. */
function distinct(drawn: readonly (readonly ExportedPicture[])[]): readonly ExportedPicture[] {
  return [...new Map(drawn.flat().map((picture) => [`${picture.id} ${picture.factor}`, picture])).values()];
}

function promptRow(
  prompt: RecordedPrompt | null,
  before: RecordedPrompt | null,
  drawn: readonly ExportedPicture[],
): object | null {
  if (!prompt) return null;
  const kept = sharedMessages(before?.messages ?? [], prompt.messages);
  const factors = drawn.slice(pictureIds(prompt.messages.slice(0, kept)).length).map(({ factor }) => factor);
  const messages = prompt.messages.slice(kept).map(({ role, parts, toolCallId = null, name = null }) => ({
    role,
    parts: parts.map((part) => partRow(part, part.kind === 'image' ? (factors.shift() ?? null) : null)),
    tool_call_id: toolCallId,
    name,
  }));
  const template = prompt.template && `${prompt.template.name}@${prompt.template.version}`;
  return { sha256: prompt.sha256, template, kept, messages, tools: prompt.tools };
}

/** Columns that the file does not have are left out of it. */
function partRow(part: PolicyMessagePart, factor: number | null): object {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return { type: part.kind, text: part.text, image_id: null, image_factor: null, tool_call: null };
    case 'image':
      return { type: 'image', text: null, image_id: part.imageId, image_factor: factor, tool_call: null };
    case 'tool-call':
      return { type: 'tool_call', text: null, image_id: null, image_factor: null, tool_call: callRow(part) };
    default:
      return part satisfies never;
  }
}

function callRow({ id, name, arguments: given }: ToolCallPart): object {
  return { id, name, arguments: given };
}

function componentRows(rewards: Readonly<Record<string, number>>): readonly { component: string; value: number }[] {
  return Object.entries(rewards).map(([component, value]) => ({ component, value }));
}

function numbers(packed: Packed | null | undefined): readonly number[] | null {
  return packed ? unpack(packed) : null;
}

/** Estimates what a row holds in memory until its group is written: text as UTF-16, unpacked numbers at 8 bytes. */
function sizeOf({ head, root, steps }: ExportTrajectory): number {
  let size = 1_000 + 2 * (head.instruction.length + root.observation.length);
  for (const step of steps) {
    size += 500 + 2 * (step.response.length + step.thought.length + step.action.length + step.observation.length);
    size += 8 * ((step.tokens?.ids.length ?? 0) + (step.tokens?.logProbs?.length ?? 0) + (step.tokens?.mask?.length ?? 0));
  }
  return size;
}

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

export const parquetFormat: FormatEntry<ParquetFormat> = {
  kind: 'parquet',
  version: 5,
  container: 'parquet',
  options: ({ weights }) => ({ weights }),
  notes: () => [
    'note: for pandas, polars and duckdb; a loss is to count replies with `weight` 1 alone, and trainers do not know the form',
  ],
  async write(job) {
    const rows = new ParquetRows(job.file, job.format, job.pictures);
    const counts = await writeTrajectories(job, async (trajectory) => {
      await rows.write(trajectory);
      return 1;
    });
    await rows.finish();
    return counts;
  },
};
