import { sha256Hex } from '../../../digest/sha256.ts';
import { type PromptSource, pictureIds } from '../../../domain/dataset/shown-rows.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import { readToolsKwargs } from '../../../projections/trajectories/select-trajectories.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { FormatEntry } from './format.ts';
import { verlMessages, verlTools } from './message-forms.ts';
import { binary, each, int64, list, optional, ParquetFile, type ParquetShape, struct, text } from './parquet-file.ts';
import type { Pictures } from './pictures.ts';
import { shownSteps } from './shown-steps.ts';
import type { Truths } from './truths.ts';
import { goalsAsTruths } from './truths.ts';
import { chatColumn } from './verl-schema.ts';
import { type ToolsKwargs, typeToolsKwargs } from './verl-tools-kwargs.ts';
import { writeTrajectories } from './write-trajectories.ts';

/** Parquet with a row per task and ground truth, as verl samples from. `truths`: SHA-256 of the file of ground truths; null takes the goals. */
interface VerlPromptsFormat {
  readonly kind: 'verl-prompts';
  readonly truths: string | null;
}

/**
 * One row per task and ground truth, as verl's `RLHFDataset` reads prompts to sample from: `data_source` (the environment),
 * `prompt` (the chat that the first reply was asked with), `ability`, `reward_model.ground_truth` and `extra_info`, which leads
 * back to the record, and has `tools_kwargs` where a task has any.
 */
export const verlPrompts = (
  { any: withPictures, structured }: Pick<Pictures, 'any' | 'structured'>,
  truth: Truths['type'],
  toolsKwargs: ToolsKwargs,
): ParquetShape => ({
  name: toolsKwargs.columns.length > 0 ? 'verl-prompts/2' : 'verl-prompts/1',
  columns: [
    text('data_source'),
    chatColumn('prompt', structured),
    ...(structured ? [optional(text('tools'))] : []),
    ...(withPictures ? [list('images', struct('element', [binary('bytes'), text('path')]))] : []),
    text('ability'),
    struct('reward_model', [text('style'), truth === 'text' ? text('ground_truth') : list('ground_truth', text('element'))]),
    struct('extra_info', [
      text('split'),
      int64('index'),
      ...each(text, 'run_id', 'tree_id', 'task_id', 'task_alias', 'goal', 'server_fingerprint', 'prompt_source'),
      ...toolsKwargs.columns,
    ]),
  ],
});

const LONGEST_GOAL = 10_000; // of an event

/**
 * Writes each task once for each ground truth, instruction, pictures and arguments of tools that it has, in the order of the query, by the first
 * trajectory that took a step. A task is known by its first observation, which others may share.
 */
export class VerlPrompts {
  /** Digests of what rows were written for. */
  readonly #seen = new Set<string>();
  readonly #pictures: Pictures;
  readonly #truths: Truths;
  readonly #toolsKwargs: ToolsKwargs;

  constructor(pictures: Pictures, truths: Truths, toolsKwargs: ToolsKwargs) {
    this.#pictures = pictures;
    this.#truths = truths;
    this.#toolsKwargs = toolsKwargs;
  }

  /** Yields the row of what has none yet. @throws DatasetError `invalid-query` for a task without a ground truth. */
  async *rows({
    head,
    root: first,
    firstPictures = [],
    steps,
  }: ExportTrajectory): AsyncGenerator<Readonly<Record<string, unknown>>> {
    const [step] = steps;
    if (!step) return;
    const place = `task ${head.alias} (${head.taskId})`;
    const truth = this.#truth(head, first.observation, place);
    const written = sha256Hex(JSON.stringify([head.taskId, truth, head.instruction, firstPictures, head.toolsKwargs]));
    if (this.#seen.has(written)) return;
    const path = { instruction: head.instruction, firstObservation: first.observation, firstPictures, steps: [step] };
    const [shown] = shownSteps(path, []);
    const prompt = shown?.prompt ?? [];
    const source: PromptSource = shown?.source ?? 'composed';
    const ids = pictureIds(prompt);
    const drawn = ids.length === 0 ? [] : await this.#pictures.of(ids, [{ treeId: head.treeId, id: step.stepId }]);
    yield {
      data_source: head.environment,
      prompt: verlMessages(prompt, place, this.#pictures.any),
      ...(this.#pictures.structured ? { tools: verlTools(shown) } : {}),
      ...(this.#pictures.any ? { images: drawn.map(({ png, id }) => ({ bytes: png, path: `${id}.png` })) } : {}),
      ability: 'agent',
      reward_model: { style: 'rule', ground_truth: truth },
      extra_info: {
        split: head.split ?? '',
        index: BigInt(this.#seen.size),
        run_id: head.runId,
        tree_id: head.treeId,
        task_id: head.taskId,
        task_alias: head.alias,
        goal: head.goal,
        server_fingerprint: head.serverFingerprint,
        prompt_source: source,
        ...this.#toolsKwargs.of(head.toolsKwargs),
      },
    };
    this.#seen.add(written);
  }

  #truth({ alias, goal }: ExportTrajectory['head'], question: string, place: string): string | readonly string[] {
    const isQuestion = goal === cutText(question, LONGEST_GOAL); // who recorded it had no other goal to state
    const found = this.#truths.of(alias) ?? (this.#truths.kind === 'goals' && goal !== '' && !isQuestion ? goal : undefined);
    if (found !== undefined) return found;
    const stated = goal === '' ? 'the record states no goal of it' : 'the goal on record is its question';
    const lack = this.#truths.kind === 'goals' ? stated : 'the file of --truths has no line with its id';
    throw new DatasetError(
      'invalid-query',
      `${place} has no ground truth: ${lack}; give --truths FILE with a line {"id": "${alias}", "ground_truth": …}, or leave the task out by --task`,
    );
  }
}

export const verlPromptsFormat: FormatEntry<VerlPromptsFormat> = {
  kind: 'verl-prompts',
  version: 1,
  container: 'parquet',
  options: ({ truths = null }) => ({ truths }),
  notes: () => ['note: verl (RLHFDataset) reads this file with its default keys: prompt, reward_model.ground_truth, extra_info'],
  async write(job) {
    const { pictures, truths = goalsAsTruths } = job;
    const toolsKwargs = typeToolsKwargs(await readToolsKwargs(job.trx, job.query));
    const file = new ParquetFile(job.file, verlPrompts(pictures, truths.type, toolsKwargs));
    const prompts = new VerlPrompts(pictures, truths, toolsKwargs);
    const counts = await writeTrajectories(job, async (trajectory) => {
      let rows = 0;
      for await (const row of prompts.rows(trajectory)) {
        await file.write(row, 2_000 + 2 * (trajectory.head.instruction.length + trajectory.root.observation.length));
        rows += 1;
      }
      return rows;
    });
    await file.finish();
    return counts;
  },
};
