import { pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { PolicySpan, RecordedRollout } from '../../../projections/trajectories/recorded-tree.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import { type ExportTrajectory, labelLines } from './export-trajectory.ts';
import type { ByteSink, FormatEntry } from './format.ts';
import { verlMessages, verlTools } from './message-forms.ts';
import { ParquetFile } from './parquet-file.ts';
import type { Pictures } from './pictures.ts';
import { shownSteps } from './shown-steps.ts';
import { splitOwn, stepTokens, tokenRowsOf, tookBy } from './verl-rows.ts';
import { verlSteps, verlTrajectories } from './verl-schema.ts';
import { writeRewarded, writeTrajectories } from './write-trajectories.ts';

/**
 * Parquet with verl's columns: a row per trajectory, which needs every token id, or per step. `tokenizer`: SHA-256 of that
 * which texts without ids are tokenised with; left out, there is none.
 */
interface VerlFormat {
  readonly kind: 'verl';
  readonly layout: 'trajectory' | 'step';
  readonly tokenizer?: string;
}

/** Writes trajectories as Parquet for verl, a row per trajectory or per step. */
export class VerlFile {
  readonly #file: ParquetFile;
  readonly #layout: VerlFormat['layout'];
  readonly #pictures: Pictures;
  readonly #tokenizer: ChatTokenizer | null;

  /** Rows that hold ids which the tokenizer made. */
  retokenised = 0;

  /** @param tokenizer for rows of trajectories whose texts have no ids; null leaves texts untokenised. */
  constructor(sink: ByteSink, { layout }: VerlFormat, pictures: Pictures, tokenizer: ChatTokenizer | null) {
    this.#layout = layout;
    this.#pictures = pictures;
    this.#tokenizer = tokenizer;
    this.#file = new ParquetFile(sink, layout === 'trajectory' ? verlTrajectories(pictures) : verlSteps(pictures));
  }

  /**
   * Returns the number of rows that the trajectory took: none for one that took no step. @throws DatasetError `missing-tokens`.
   */
  async write(trajectory: ExportTrajectory): Promise<number> {
    const written =
      this.#layout === 'trajectory'
        ? verlTrajectoryRows(trajectory, { pictures: this.#pictures, tokenizer: this.#tokenizer })
        : verlStepRows(trajectory, this.#pictures);
    let rows = 0;
    for await (const row of written) {
      // The chat before a step is at most the whole episode; what was shown besides it is its pictures and token ids.
      await this.#file.write(row, sizeOf(trajectory) + picturesSize(row) + idsSize(row));
      rows += 1;
      if (row.tokenised === 'retokenised') this.retokenised += 1;
    }
    return rows;
  }

  /** Writes the last row group and the footer. */
  finish(): Promise<void> {
    return this.#file.finish();
  }
}

function picturesSize({ images }: Readonly<Record<string, unknown>>): number {
  if (!Array.isArray(images)) return 0;
  return images.reduce((sum: number, { bytes }: { readonly bytes: Uint8Array }) => sum + bytes.length, 0);
}

function idsSize({ prompts, responses }: Readonly<Record<string, unknown>>): number {
  const length = (ids: unknown) => (Array.isArray(ids) ? ids.length : 0);
  return 8 * length(prompts) + 32 * length(responses);
}

/** Estimates what a trajectory holds in memory: text as UTF-16, and four numbers of 8 bytes for every token. */
function sizeOf({ head, root, steps }: ExportTrajectory): number {
  let size = 2_000 + 2 * (head.instruction.length + root.observation.length);
  for (const { response, observation, tokens } of steps)
    size += 500 + 2 * (response.length + observation.length) + 32 * (tokens?.ids.length ?? 0);
  return size;
}

/**
 * Writes the steps that a rollout took as rows of `VERL_STEPS`. Each has the whole prompt that it was asked with: the file grows
 * with the square of an episode's length.
 */
async function* verlStepRows(
  trajectory: ExportTrajectory,
  pictures: Pictures,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const { head, root, firstPictures = [], steps, rollout } = trajectory;
  const { context, own } = splitOwn(trajectory);
  const episode = episodeColumns(trajectory);
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, []);
  for (const [i, step] of own.entries()) {
    const before = context.length + i;
    const tokens = stepTokens(step);
    const prompt = shown[before]?.prompt ?? [];
    const ids = pictureIds(prompt);
    const drawn = ids.length === 0 ? [] : await pictures.of(ids, pathTo(trajectory, before));
    const place = `step ${step.stepId} of trajectory ${rollout.rolloutId}`;
    yield {
      ...episode,
      step_indices: i,
      step_id: step.stepId,
      raw_prompt: verlMessages(prompt, place, pictures.any),
      ...(pictures.structured ? { tools: verlTools(shown[before]) } : {}),
      ...(pictures.prompts ? { prompt_source: shown[before]?.source ?? 'composed' } : {}),
      ...(pictures.any
        ? {
            images: drawn.map(({ png, id }) => ({ bytes: png, path: `${id}.png` })),
            image_ids: ids,
            image_factors: drawn.map(({ factor }) => factor),
          }
        : {}),
      response_text: step.response,
      ...(pictures.structured ? { response_message: verlMessages([step.message], place, false)[0] } : {}),
      responses: tokens?.ids ?? null,
      response_mask: tokens && (tookBy(step, rollout) ? tokens.mask : tokens.mask.map(() => 0)),
      rollout_log_probs: tokens?.logProbs ?? null,
      step_reward: sumAmounts(Object.values(step.rewards)),
      rewards: componentRows(step.rewards),
      trajectory_rewards: componentRows(trajectory.rolloutRewards),
      anchor_obs: (steps[before - 1] ?? root).stateHash, // a step keeps the hash of the state that it led to
      is_action_valid: step.executable,
      termination: step.termination,
      ...versionColumns(step.policySpans, rollout),
    };
  }
}

/** The steps of a trajectory up to one of them, by its place. */
function pathTo({ head, steps }: ExportTrajectory, place: number): readonly OfTree[] {
  return steps.slice(0, place + 1).map(({ stepId: id }) => ({ treeId: head.treeId, id }));
}

/**
 * Writes a trajectory as rows of `verlTrajectories`: one, or one per cut; none for one that took no step. @throws DatasetError
 * `missing-tokens`.
 */
async function* verlTrajectoryRows(
  trajectory: ExportTrajectory,
  { pictures, tokenizer }: { readonly pictures: Pictures; readonly tokenizer: ChatTokenizer | null },
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const { head, root, firstPictures = [], steps, rewards, rollout } = trajectory;
  const { context, own } = splitOwn(trajectory);
  const episode = episodeColumns(trajectory);
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, []);
  const mine = own.map((step) => tookBy(step, rollout)); // a guide's tokens are shown, not sampled by the policy
  const { rows, retokenised } = tokenRowsOf({ ...trajectory, steps: own }, shown.slice(context.length), tokenizer);
  for (const row of rows) {
    const first = shown[context.length + row.from];
    const lastPrompt = shown[context.length + row.to - 1]?.prompt ?? [];
    const ids = pictureIds(lastPrompt);
    const covered = own.slice(row.from, row.to).map(({ stepId }) => stepId);
    const drawn = ids.length === 0 ? [] : await pictures.of(ids, pathTo(trajectory, context.length + row.to - 1));
    const place = `step ${covered[0]} of trajectory ${rollout.rolloutId}`;
    yield {
      ...episode,
      cut_index: row.cut,
      cuts: rows.length - 1,
      first_step: row.from,
      step_ids: covered,
      raw_prompt: verlMessages(first?.prompt ?? [], place, pictures.any),
      ...(pictures.structured ? { tools: verlTools(first) } : {}),
      prompt_source: first?.source ?? 'composed',
      ...(pictures.any
        ? {
            images: drawn.map(({ png, id }) => ({ bytes: png, path: `${id}.png` })),
            image_ids: ids,
            image_factors: drawn.map(({ factor }) => factor),
          }
        : {}),
      tokenised: covered.some((_, k) => retokenised.has(row.from + k)) ? 'retokenised' : 'recorded',
      prompts: row.promptIds && Array.from(row.promptIds),
      responses: Array.from(row.ids),
      response_mask: Array.from(row.mask, (m, i) => (m === 1 && mine[row.steps[i] ?? 0] ? 1 : 0)),
      rollout_log_probs: row.logProbs && Array.from(row.logProbs),
      step_indices: Array.from(row.steps),
      step_ends: row.ends,
      token_level_scores: Array.from(row.scores),
      rewards: componentRows(rewards),
      __num_turns__: covered.length,
      ...versionColumns(row.spans, rollout),
    };
  }
}

/** The columns that both layouts have: the group, the trajectory, where it came from and how it ended. */
function episodeColumns({ head, rollout, returnValue, steps, annotations }: ExportTrajectory): Readonly<Record<string, unknown>> {
  return {
    uid: head.treeId,
    traj_uid: rollout.rolloutId,
    data_source: head.environment,
    episode_rewards: returnValue,
    episode_lengths: steps.length,
    outcome: rollout.outcome,
    success: rollout.success,
    extra_info: {
      split: head.split,
      index: rollout.ordinal,
      run_id: head.runId,
      task_id: head.taskId,
      task_alias: head.alias,
      goal: head.goal,
      seed: BigInt(rollout.seed),
      labels: labelLines(annotations),
    },
  };
}

/** The policy and its versions over a row: the first and the last that sampled in it, and every span. */
function versionColumns(spans: readonly PolicySpan[], rollout: RecordedRollout): Readonly<Record<string, unknown>> {
  return {
    policy_id: spans[0]?.policyId ?? rollout.policyId,
    param_version_start: spans[0]?.version ?? rollout.policyVersion,
    param_version_end: spans.at(-1)?.version ?? rollout.policyVersion,
    policy_spans: spans.map(({ from, to, policyId, version }) => ({ from, to, policy_id: policyId, version })),
  };
}

/** Rewards as rows of a component and its sum. */
export function componentRows(rewards: Readonly<Record<string, number>>): readonly { component: string; value: number }[] {
  return Object.entries(rewards).map(([component, value]) => ({ component, value }));
}

export const verlFormat: FormatEntry<VerlFormat> = {
  kind: 'verl',
  version: 7,
  container: 'parquet',
  options: ({ layout, tokenizer }) => ({ layout, ...(tokenizer === undefined ? {} : { tokenizer }) }),
  notes: () => ['note: this is experience (DataProto, by espalier_rl.adapters.verl); RLHFDataset reads prompts: --data prompts'],
  write: (job) =>
    writeRewarded(job, async (each) => {
      const file = new VerlFile(each.file, job.format, each.pictures, each.tokenizer ?? null);
      const counts = await writeTrajectories(each, (trajectory) => file.write(trajectory));
      await file.finish();
      return { ...counts, ...(file.retokenised > 0 ? { retokenised: file.retokenised } : {}) };
    }),
};
