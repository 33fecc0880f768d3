import { VECTOR } from './vector-loops.ts';
import type { Weights } from './weigh.ts';

/** Weights as the loops in `resize.wat` read them. */
export interface PackedRows {
  /** Two weights each; those behind the last are 0. */
  readonly pairs: number;
  /** Per output `pairs` times: the upper halves of two weights, then the lower. */
  readonly bytes: Uint8Array;
}

export interface PackedColumns extends Pick<Weights, 'from' | 'count'> {
  /** Eight weights each; those behind the last are 0. */
  readonly groups: number;
  /** Per output `groups` times: the upper halves of eight weights, then the lower. 16 outputs that weigh nothing stand behind. */
  readonly bytes: Uint8Array;
  /** Per output the first input. */
  readonly first: Int32Array;
  /** Per input: the outputs whose windows end before it, and those that begin before it. */
  readonly ended: Uint16Array;
  readonly begun: Uint16Array;
}

/** Outputs behind the last, as loops write whole vectors. */
const SPARE = VECTOR;
const LOWER_BITS = 12;

const rowsOf = new WeakMap<Weights, PackedRows>();
const columnsOf = new WeakMap<Weights, PackedColumns>();

/** Packs the weights of a pass over rows. */
export function packRows(weights: Weights): PackedRows {
  let packed = rowsOf.get(weights);
  if (!packed) {
    const pairs = Math.ceil(mostOf(weights) / 2);
    packed = { pairs, bytes: pack(weights, pairs, 2, 0) };
    rowsOf.set(weights, packed);
  }
  return packed;
}

/** Packs the weights of a pass over columns. */
export function packColumns(weights: Weights): PackedColumns {
  let packed = columnsOf.get(weights);
  if (!packed) {
    const groups = Math.ceil(mostOf(weights) / 8);
    const first = new Int32Array(weights.from.length + SPARE);
    first.set(weights.from);
    packed = { ...weights, groups, bytes: pack(weights, groups, 8, SPARE), first, ...reach(weights) };
    columnsOf.set(weights, packed);
  }
  return packed;
}

/** Returns which outputs are made of inputs in [left, right): the first, and the one behind the last. */
export function outputsOver({ ended, begun }: PackedColumns, left: number, right: number): [number, number] {
  return [ended[left] as number, begun[right] as number]; // for each input, and for the place behind the last
}

function reach({ from, count }: Weights): Pick<PackedColumns, 'ended' | 'begun'> {
  const last = from.length - 1;
  const inputs = (from[last] ?? 0) + (count[last] ?? 0);
  const [ended, begun] = [new Uint16Array(inputs + 1), new Uint16Array(inputs + 1)];
  for (let input = 0, end = 0, begin = 0; input <= inputs; input++) {
    while (end <= last && (from[end] as number) + (count[end] as number) <= input) end++; // end <= last
    while (begin <= last && (from[begin] as number) < input) begin++;
    ended[input] = end;
    begun[input] = begin;
  }
  return { ended, begun };
}

function mostOf({ count }: Weights): number {
  let most = 1;
  for (const each of count) most = Math.max(most, each);
  return most;
}

function pack({ count, values, most }: Weights, groups: number, width: number, spare: number): Uint8Array {
  const halves = new Int16Array((count.length + spare) * groups * width * 2);
  for (let output = 0; output < count.length; output++) {
    const n = count[output] as number; // output < length
    for (let k = 0; k < n; k++) {
      const weight = values[output * most + k] as number; // k < most
      const at = (output * groups + Math.floor(k / width)) * width * 2 + (k % width);
      halves[at] = weight >> LOWER_BITS;
      halves[at + width] = weight & ((1 << LOWER_BITS) - 1);
    }
  }
  return new Uint8Array(halves.buffer);
}
