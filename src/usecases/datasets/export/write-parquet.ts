import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { AskedPart, ToolCallPart } from '../../../domain/prompts/asked-prompt.ts';
import { sharedMessages } from '../../../domain/prompts/same-message.ts';
import { callsOf, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import { unpack } from '../../../events/packed.ts';
import type { Packed } from '../../../events/schemas/values.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { labelLines } from './annotations-on.ts';
import { type ExportTrajectory, isRewarded } from './export-trajectory.ts';
import type { ByteSink, ExportFormat } from './format.ts';
import { ParquetFile } from './parquet-file.ts';
import { trajectoryRows } from './parquet-schema.ts';
import type { Pictures, ShownPicture } from './pictures.ts';

/** Writes trajectories as Parquet (Snappy), a bounded row group at a time. */
export class ParquetRows {
  readonly #file: ParquetFile;
  readonly #format: Extract<ExportFormat, { kind: 'parquet' }>;

  readonly #pictures: Pictures;

  constructor(sink: ByteSink, format: Extract<ExportFormat, { kind: 'parquet' }>, pictures: Pictures) {
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
export function parquetRow(
  trajectory: ExportTrajectory,
  format: Extract<ExportFormat, { kind: 'parquet' }>,
  drawn: readonly (readonly ShownPicture[])[],
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
    return: isRewarded(trajectory) ? trajectory.returnValue : Number.NaN, // a missing number, as pandas has it
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
      reward: sumAmounts(Object.values(step.rewards)),
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
async function drawnIn({ head, steps }: ExportTrajectory, pictures: Pictures): Promise<readonly (readonly ShownPicture[])[]> {
  const drawn: (readonly ShownPicture[])[] = [];
  for (const { stepId, prompt } of steps) {
    const ids = pictureIds(prompt?.messages ?? []);
    drawn.push(ids.length === 0 ? [] : await pictures.of(ids, [{ treeId: head.treeId, id: stepId }]));
  }
  return drawn;
}

/** Each picture at each factor once, in the order in which they were shown. */
function distinct(drawn: readonly (readonly ShownPicture[])[]): readonly ShownPicture[] {
  return [...new Map(drawn.flat().map((picture) => [`${picture.id} ${picture.factor}`, picture])).values()];
}

function promptRow(prompt: RecordedPrompt | null, before: RecordedPrompt | null, drawn: readonly ShownPicture[]): object | null {
  if (!prompt) return null;
  const factors = new Map(drawn.map(({ id, factor }) => [id, factor]));
  const kept = sharedMessages(before?.messages ?? [], prompt.messages);
  const messages = prompt.messages.slice(kept).map(({ role, parts, toolCallId = null, name = null }) => ({
    role,
    parts: parts.map((part) => partRow(part, factors)),
    tool_call_id: toolCallId,
    name,
  }));
  const template = prompt.template && `${prompt.template.name}@${prompt.template.version}`;
  return { sha256: prompt.sha256, template, kept, messages, tools: prompt.tools };
}

/** Columns that the file does not have are left out of it. */
function partRow(part: AskedPart, factors: ReadonlyMap<string, number>): object {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return { type: part.kind, text: part.text, image_id: null, image_factor: null, tool_call: null };
    case 'image':
      return {
        type: 'image',
        text: null,
        image_id: part.imageId,
        image_factor: factors.get(part.imageId) ?? null,
        tool_call: null,
      };
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
