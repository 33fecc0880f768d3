import { readSafetensors, type Tensor, writeSafetensors } from '../../rows/safetensors.ts';

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
