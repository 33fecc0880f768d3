import type { ServedMessage } from '../../../domain/prompts/served-message.ts';
import type { ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { findLogProbFault } from '../../../domain/training/planning/record-fault.ts';
import { at } from '../../../domain/training/rows/rows.ts';
import { readSafetensors, type Tensor, writeSafetensors } from '../../rows/safetensors.ts';
import { estimatorBatch, type TokenReadings } from '../estimator-batch.ts';
import { type RowPicture, type StepRow, sortRows } from '../step-row.ts';

/** A row as the training process takes it: the prompt's ids, then the sampled ones. */
export interface PackedRow {
  readonly prompt: readonly number[];
  readonly sampled: readonly number[];
  /** 1 on the sampled tokens that are trained on; left out, all are. */
  readonly trained?: Uint8Array;
  /** What the first `tokens` of the ids show; left out where a model of texts is all that reads them. */
  readonly shown?: { readonly step: string; readonly tokens: number; readonly pictures: readonly string[] };
}

/** A picture as the training process takes it. */
export interface PackedPicture {
  readonly id: string;
  /** A step that was shown it, for messages. */
  readonly step: string;
  readonly png: Uint8Array;
}

/** Returns one number for each sampled token of each row. */
export type TokenColumns = Readonly<Record<string, readonly ArrayLike<number>[]>>;

/**
 * Packs rows without padding: ids, where each row begins, a mask of the trained tokens, and columns parallel to the ids (0
 * over prompts).
 */
export function packRows(rows: readonly PackedRow[], columns: TokenColumns): readonly Uint8Array[] {
  const offsets = [0];
  for (const { prompt, sampled } of rows) offsets.push((offsets.at(-1) ?? 0) + prompt.length + sampled.length);
  const total = offsets.at(-1) ?? 0;
  const ids = new Int32Array(total);
  const mask = new Uint8Array(total);
  const flat = Object.keys(columns).map((name) => ({ name, shape: [total], data: new Float32Array(total) }));
  for (const [i, { prompt, sampled, trained }] of rows.entries()) {
    const start = offsets[i] ?? 0;
    const own = start + prompt.length;
    ids.set(prompt, start);
    ids.set(sampled, own);
    if (trained) mask.set(trained, own);
    else mask.fill(1, own, own + sampled.length);
    for (const { name, data } of flat) data.set(columns[name]?.[i] ?? [], own);
  }
  const tensors: Tensor[] = [
    { name: 'ids', shape: [total], data: ids },
    { name: 'offsets', shape: [offsets.length], data: Int32Array.from(offsets) },
    { name: 'mask', shape: [total], data: mask },
    ...flat,
  ];
  return writeSafetensors(tensors, {});
}

/** Packs pictures one behind the other. */
export function packPictures(pictures: readonly PackedPicture[]): readonly Uint8Array[] {
  const offsets = [0];
  for (const { png } of pictures) offsets.push((offsets.at(-1) ?? 0) + png.length);
  const whole = new Uint8Array(offsets.at(-1) ?? 0);
  for (const [i, { png }] of pictures.entries()) whole.set(png, offsets[i]);
  const tensors: Tensor[] = [
    { name: 'png', shape: [whole.length], data: whole },
    { name: 'offsets', shape: [offsets.length], data: Int32Array.from(offsets) },
  ];
  return writeSafetensors(tensors, {});
}

/** Describes for each row what it shows, as the training process takes it; null where none is known. */
export function shownOf(rows: readonly PackedRow[]): readonly unknown[] | null {
  if (rows.every(({ shown }) => shown === undefined)) return null;
  return rows.map(({ shown }) => shown && { step: shown.step, prompt: shown.tokens, pictures: shown.pictures });
}

/**
 * Reads a column of the answer back to the sampled tokens of each row. @throws RangeError when it is not there or of another
 * length.
 */
export function unpackColumn(body: Uint8Array, name: string, rows: readonly PackedRow[]): readonly Float64Array[] {
  const data = readSafetensors(body).tensors.get(name)?.data;
  const total = rows.reduce((sum, { prompt, sampled }) => sum + prompt.length + sampled.length, 0);
  if (data?.length !== total) throw new RangeError(`the column ${name} has ${data?.length ?? 'no'} values for ${total} tokens`);
  let at = 0;
  return rows.map(({ prompt, sampled }) => {
    at += prompt.length + sampled.length;
    return Float64Array.from(data.subarray(at - sampled.length, at));
  });
}

/** Reads ragged ids: `ids` cut at `offsets`. */
export function unpackIds(body: Uint8Array): readonly (readonly number[])[] {
  const { tensors } = readSafetensors(body);
  const ids = tensors.get('ids')?.data ?? new Int32Array();
  const offsets = [...(tensors.get('offsets')?.data ?? [])];
  return offsets.slice(1).map((end, i) => [...ids.subarray(offsets[i], end)]);
}

/** A step with what a language model needs of it. */
export interface TokenRow {
  readonly row: StepRow;
  readonly messages: readonly ServedMessage[];
  /** Schemas of the tools that were offered, as JSON; null for none. */
  readonly tools: string | null;
  /** Token ids of the messages; null where the server returned none. */
  readonly promptIds: readonly number[] | null;
  /** The pictures that the prompt shows, in order; with any, its token ids are known. */
  readonly pictures: readonly RowPicture[];
  /** Names the step in messages. */
  readonly where: string;
  readonly reply: ServedMessage;
  readonly ids: readonly number[];
  readonly recorded: readonly number[] | null;
}

/**
 * Takes the rows in the order in which sums are taken. Refuses rows without sampled tokens or chat, and what no update can be
 * computed of.
 */
export function tokenRows(
  rows: readonly StepRow[],
): { readonly kind: 'rows'; readonly rows: readonly TokenRow[] } | RefusedOption {
  const found: TokenRow[] = [];
  for (const row of sortRows(rows)) {
    const where = `step ${row.step} of rollout ${row.rolloutId}`;
    if (!Number.isFinite(row.reward)) return refuseOption(`${where} has a reward that is not finite`);
    if (row.tokens === null || row.tokens.ids.length === 0)
      return refuseOption(
        `${where} has no sampled token ids; ask an engine that returns them (re-tokenised text is not what was sampled)`,
      );
    const fault = findLogProbFault(where, row.tokens.logProbs, row.tokens.ids.length);
    if (fault !== null) return refuseOption(fault);
    if (!row.chat)
      return refuseOption(
        `${where} has no prompt on record that can be read again; collect by a server that returns the token ids of its prompts`,
      );
    if (!(row.temperature > 0)) return refuseOption(`${where} was not sampled but taken greedily; there is no gradient of that`);
    const { messages, reply, tools = null, promptIds = null, pictures = [] } = row.chat;
    found.push({ row, messages, tools, promptIds, pictures, where, reply, ids: row.tokens.ids, recorded: row.tokens.logProbs });
  }
  if (found.length === 0) return refuseOption('the batch has no step');
  const temperatures = new Set(found.map(({ row }) => row.temperature));
  if (temperatures.size > 1)
    return refuseOption(`the rows were sampled at the temperatures ${[...temperatures].join(', ')}; a batch has one`);
  return { kind: 'rows', rows: found };
}

/** Finds a token id that a model has no embedding of: the tokens of another model, or of another tokenizer. */
export function findForeignId(rows: readonly TokenRow[], packed: readonly PackedRow[], vocabulary: number): string | null {
  for (const [i, { row }] of rows.entries()) {
    const { prompt = [], sampled = [] } = packed[i] ?? {};
    for (const [what, ids] of [
      ['prompt', prompt],
      ['reply', sampled],
    ] as const) {
      const place = ids.findIndex((id) => id < 0 || id >= vocabulary);
      if (place !== -1)
        return `step ${row.step} of rollout ${row.rolloutId}: token ${place} of its ${what} has the id ${ids[place]}, outside the vocabulary of ${vocabulary} of the model that is trained; train the model that sampled it`;
    }
  }
  return null;
}

/** Rows of steps as sequences that are computed once each, and where the sampled tokens of every row are in them. */
export interface MergedRows {
  readonly sequences: readonly PackedRow[];
  /** The rows of each sequence, by position. */
  readonly members: readonly (readonly number[])[];
  /** Lays a column of rows out over the sequences; 0 on tokens that were shown. */
  spread(rows: readonly ArrayLike<number>[]): readonly Float64Array[];
  /** Takes the column of each row from one of the sequences. */
  split(sequences: readonly ArrayLike<number>[]): readonly Float64Array[];
}

/**
 * Merges consecutive steps of a rollout where the prompt of the next begins with the prompt and reply of the one before: what
 * they share is computed once. A row is a step still: its log-probs, values, advantages and losses are those of its own tokens.
 * @param rows in the order of their steps.
 */
export function mergeRows(
  rows: readonly { readonly trajectory: string; readonly step: number; readonly packed: PackedRow }[],
): MergedRows {
  const open: Open[] = [];
  const places: Place[] = [];
  for (const [i, { trajectory, step, packed }] of rows.entries()) {
    const before = rows[i - 1];
    const last = open.at(-1);
    const follows = before?.trajectory === trajectory && before.step === step - 1;
    const between = follows && last ? continuation(last, packed) : null;
    const into: Open = last && between ? last : { prompt: packed.prompt, ids: [], trained: [], members: [], shown: undefined };
    if (into !== last) open.push(into);
    into.shown = packed.shown; // its prompt begins with all that was shown before
    for (const id of between ?? []) append(into, id, 0);
    places.push({ sequence: open.length - 1, from: into.ids.length, to: into.ids.length + packed.sampled.length });
    for (const [t, id] of packed.sampled.entries()) append(into, id, packed.trained ? at(packed.trained, t) : 1);
    into.members.push(i);
  }
  return {
    sequences: open.map(({ prompt, ids, trained, shown }) => {
      const sequence = { prompt, sampled: ids, trained: Uint8Array.from(trained) };
      return shown ? { ...sequence, shown } : sequence;
    }),
    members: open.map(({ members }) => members),
    spread(columns) {
      const spread = open.map(({ ids }) => new Float64Array(ids.length));
      for (const [i, { sequence, from }] of places.entries()) spread[sequence]?.set(columns[i] ?? [], from);
      return spread;
    },
    split: (sequences) => places.map(({ sequence, from, to }) => Float64Array.from(sequences[sequence] ?? []).slice(from, to)),
  };
}

/** Leaves each row a sequence of its own, where what is computed counts rows. */
export function unmergedRows(packed: readonly PackedRow[]): MergedRows {
  const copied = (columns: readonly ArrayLike<number>[]) => columns.map((column) => Float64Array.from(column));
  return { sequences: packed, members: packed.map((_, i) => [i]), spread: copied, split: copied };
}

interface Place {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

interface Open {
  readonly prompt: readonly number[];
  /** What follows the prompt: sampled, and shown in between. */
  readonly ids: number[];
  readonly trained: number[];
  readonly members: number[];
  shown: PackedRow['shown'];
}

function append({ ids, trained }: Open, id: number, mask: number): void {
  ids.push(id);
  trained.push(mask);
}

/**
 * Returns what follows a sequence in a prompt; null where the prompt does not begin with it, or shows other pictures on the same
 * tokens.
 */
function continuation({ prompt, ids, shown }: Open, { prompt: next, shown: nextShown }: PackedRow): readonly number[] | null {
  const length = prompt.length + ids.length;
  if (shown?.pictures.some((picture, i) => nextShown?.pictures[i] !== picture)) return null;
  if (next.length < length) return null;
  for (let t = 0; t < length; t++) if (next[t] !== (t < prompt.length ? prompt[t] : ids[t - prompt.length])) return null;
  return next.slice(length);
}

/** Asks an estimator for the advantages of sampled tokens: a row for each step. */
export function estimateTokens(
  estimator: ConfiguredEstimator,
  rows: readonly Pick<TokenRow, 'row' | 'ids'>[],
  readings: TokenReadings,
): Estimated | RefusedOption {
  return estimator.estimate(
    estimatorBatch(
      estimator.readiness,
      rows.map(({ row }) => row),
      readings,
    ),
  );
}
