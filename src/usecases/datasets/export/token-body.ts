import { pictureIds, type RowMessage } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import { type TokenStep, trajectoryRows } from '../../../domain/training/rows/trajectory-rows.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ChatTokenizer } from './chat-tokenizer.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ByteSink, WriteJob } from './format.ts';
import { Float, jsonLine } from './json-line.ts';
import type { ExportCounts } from './manifest.ts';
import { type Column, double, each, int32, list, ParquetFile, type ParquetShape, struct, text } from './parquet-file.ts';
import { partOf, rowMetadata } from './row-metadata.ts';
import { originOf, refuseUnknownPrompts, shownSteps } from './shown-steps.ts';
import { sampledAll, tokenRowsOf } from './verl-rows.ts';
import { writeTrajectories } from './write-trajectories.ts';

/** Prompt and completion for TRL, one line per reply that is trained on: its loss flags have no other form there. */
export interface TrlFormat {
  readonly kind: 'trl';
  readonly weights: WeightRule;
  readonly metadata: 'include' | 'omit';
  /** SHA-256 of the tokenizer of a file of token ids, a line per trajectory; left out, it is one of texts. */
  readonly tokenizer?: string;
  /** Of a file of token ids; left out, it has a line of JSON for each row. */
  readonly container?: 'parquet';
}

const IGNORED = -100; // the label that torch's cross entropy leaves out

/**
 * A row of token ids for supervised trainers: `loss_mask` 1 on the tokens of replies that are trained on, `labels` their ids and
 * -100 elsewhere, `position_ids` from 0.
 */
export interface TokenBody {
  readonly input_ids: readonly number[];
  readonly labels: readonly number[];
  readonly loss_mask: readonly number[];
  readonly position_ids: readonly number[];
  /** `retokenised` where ids of it were made by a tokenizer. */
  readonly tokenised: 'recorded' | 'retokenised';
}

/** Writes a row of ids. @param mask one for each id: 1 where it is trained on. */
function tokenBody(ids: readonly number[], mask: readonly number[], tokenised: TokenBody['tokenised']): TokenBody {
  return {
    input_ids: ids,
    labels: ids.map((id, i) => (mask[i] === 1 ? id : IGNORED)),
    loss_mask: mask,
    position_ids: ids.map((_, i) => i),
    tokenised,
  };
}

/**
 * Tokenises a conversation without pictures: one row with the masks of every reply, or one per cut where the chat template does not
 * continue what it wrote before. None where no reply is trained on. @throws DatasetError `picture`, `missing-tokens`.
 */
export function tokeniseChat(
  { messages, tools }: { readonly messages: readonly RowMessage[]; readonly tools: string | null },
  tokenizer: ChatTokenizer,
  place: string,
): readonly TokenBody[] {
  refusePicturesIn(messages, place);
  const replies = [...messages.entries()].filter(([, { role }]) => role === 'assistant');
  const trained = replies.map(([, { weight }]) => weight === 1);
  const from = trained.indexOf(true);
  if (from < 0) return [];
  const steps = replies.slice(from, trained.lastIndexOf(true) + 1).map(([at, message]): TokenStep => {
    const chat = { messages: messages.slice(0, at), tools };
    return {
      promptIds: Int32Array.from(tokenizer.prompt(chat, place)),
      tokens: sampledAll(tokenizer.reply(chat, message, place)),
      spans: [],
      reward: 0,
    };
  });
  const laid = trajectoryRows(steps, 0);
  if (laid.kind === 'missing') throw new DatasetError('missing-tokens', `${place}: a reply has no token to train on`);
  return laid.rows.flatMap((row) => {
    const opening = Array.from(row.promptIds ?? []);
    const mask = Array.from(row.mask, (m, i) => (m === 1 && trained[from + (row.steps[i] ?? 0)] ? 1 : 0));
    if (!mask.includes(1)) return [];
    return [tokenBody([...opening, ...row.ids], [...opening.map(() => 0), ...mask], 'retokenised')];
  });
}

/** @throws DatasetError `picture`: a tokenizer of texts has no ids of one. */
function refusePicturesIn(messages: readonly RowMessage[], place: string): void {
  if (pictureIds(messages).length === 0) return;
  throw new DatasetError(
    'picture',
    `${place} was asked with a picture, which rows of token ids have no place for; leave out --tokenizer, or leave the run out by a filter`,
  );
}

const ids = (name: string): Column => list(name, int32('element'));

/** The column `metadata` of `rowMetadata`, in its order. */
const metadata = (): Column =>
  struct('metadata', [
    ...each(text, 'kind', 'trajectory', 'rejected', 'tree', 'run'),
    struct('task', [...each(text, 'id', 'alias', 'goal'), int32('depth'), text('split')]),
    struct('environment', each(text, 'name', 'fingerprint')),
    struct('policy', [text('id'), int32('version')]),
    int32('ordinal'),
    ...each(text, 'outcome', 'result'),
    int32('steps'),
    ...each(text, 'leaf', 'rejected_leaf', 'revision', 'state', 'judge', 'judgements', 'labels', 'rejected_labels', 'prompt'),
    struct('part', [int32('index'), int32('of'), int32('from'), int32('to')]),
    list('scores', struct('element', [text('name'), double('value')])),
  ]);

const tokenRows = (says: boolean): ParquetShape => ({
  name: 'token-rows/1',
  columns: [...each(ids, 'input_ids', 'labels', 'loss_mask', 'position_ids'), text('tokenised'), ...(says ? [metadata()] : [])],
});

/** Writes rows of token ids as Parquet: the columns of the lines, with types that no reader has to find out. */
export class TokenFile {
  readonly #file: ParquetFile;

  constructor(sink: ByteSink, format: { readonly metadata: 'include' | 'omit' }) {
    this.#file = new ParquetFile(sink, tokenRows(format.metadata === 'include'));
  }

  async write(body: TokenBody): Promise<void> {
    await this.#file.write(plain(body) as Readonly<Record<string, unknown>>, 2_000 + 32 * body.input_ids.length);
  }

  /** Writes the last row group and the footer. */
  finish(): Promise<void> {
    return this.#file.finish();
  }
}

/** Columns have their types: floats are numbers again. */
function plain(value: unknown): unknown {
  if (value instanceof Float) return value.value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(plain) : value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

/**
 * Writes a trajectory as token ids for supervised trainers: one line with the masks of every turn, or one per cut where a prompt
 * does not continue the tokens before it. `input_ids` is the first prompt and all that followed, `loss_mask` 1 on the tokens of
 * replies that are trained on, `labels` their ids and -100 elsewhere, `position_ids` from 0. Ids are those on record; texts
 * without are tokenised, and `tokenised` says so. None for a trajectory without a reply to train on.
 * @throws DatasetError `missing-tokens`, `missing-prompt`, `bad-row`.
 */
export function tokenBodies(
  trajectory: ExportTrajectory,
  { weights: rule, metadata }: TrlFormat,
  tokenizer: ChatTokenizer,
): readonly TokenBody[] {
  const { head, root, firstPictures = [], steps, rollout, config } = trajectory;
  const weights = turnWeights(steps, rollout, rule);
  const from = weights.indexOf(1);
  if (from < 0) return [];
  const to = weights.lastIndexOf(1) + 1;
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown = shownSteps(path, weights).slice(from, to);
  for (const { prompt } of shown) refusePicturesIn(prompt, `trajectory ${rollout.rolloutId}`);
  const { rows, retokenised } = tokenRowsOf({ ...trajectory, steps: steps.slice(from, to) }, shown, tokenizer);
  const trained = rows.filter((row) => row.steps.some((step, i) => row.mask[i] === 1 && weights[from + step] === 1));
  const origin = originOf(trajectory);
  return trained.map((row, index) => {
    const covered = shown.slice(row.from, row.to);
    const source = covered.every((step) => step.source === 'recorded') ? 'recorded' : 'composed';
    refuseUnknownPrompts(source, config, `trajectory ${rollout.rolloutId} of run ${head.runId}`, metadata === 'include');
    const opening = Array.from(row.promptIds ?? []);
    const ids = [...opening, ...row.ids];
    const mask = [...opening.map(() => 0), ...Array.from(row.mask, (m, i) => m * (weights[from + (row.steps[i] ?? 0)] ?? 0))];
    return {
      ...tokenBody(ids, mask, covered.some((_, i) => retokenised.has(row.from + i)) ? 'retokenised' : 'recorded'),
      ...(metadata === 'include'
        ? { metadata: rowMetadata(origin, { prompt: source, part: partOf(row, index, trained.length, from) }) }
        : {}),
    };
  });
}

/** Writes trajectories as token ids, lines or Parquet. */
export async function writeTokens(job: WriteJob<TrlFormat>, tokenizer: ChatTokenizer): Promise<ExportCounts> {
  const { format } = job;
  let retokenised = 0;
  const parquet = format.container === 'parquet' ? new TokenFile(job.file, format) : null;
  const counts = await writeTrajectories(job, async (trajectory) => {
    const bodies = tokenBodies(trajectory, format, tokenizer);
    retokenised += bodies.filter(({ tokenised }) => tokenised === 'retokenised').length;
    for (const body of bodies) await (parquet ? parquet.write(body) : job.file.write(jsonLine(body)));
    return bodies.length;
  });
  await parquet?.finish();
  return { ...counts, ...(retokenised > 0 ? { retokenised } : {}) };
}
