import { largest, smallest } from '../domain/extremes.ts';
import type { RenderedSegment } from './rendered-segment.ts';
import { outputsOver, packColumns } from './resize/pack-weights.ts';
import type { VectorLoops } from './resize/vector-loops.ts';
import { weigh } from './resize/weigh.ts';

/**
 * The rows of a history as a resize reads them: one byte a pixel, and red and blue of the rows that have colour. `width` is
 * `across`, the width they are drawn with, or less where the pass over columns is done: that pass does not look at other rows, so
 * what was made narrow once is kept while the history grows.
 */
export interface SegmentRows {
  readonly across: number;
  readonly width: number;
  /** Segments and rows that are in. */
  segments: number;
  rows: number;
  /** Green, which stands for all three channels where a row has no colour. */
  green: Uint8Array;
  /** Whole rows, `coloured` of them. */
  red: Uint8Array;
  blue: Uint8Array;
  coloured: number;
  /** Per row: its number among coloured rows or -1, and which columns are coloured. */
  place: Int32Array;
  left: Uint16Array;
  right: Uint16Array;
}

/** What loops write behind the last byte of a row. */
const SPARE = 32;

/** Makes rows without a row. */
export function openSegmentRows(across: number, width: number): SegmentRows {
  const [none, short] = [new Uint8Array(), new Uint16Array()];
  const bytes = { green: none, red: none, blue: none };
  return { across, width, segments: 0, rows: 0, ...bytes, coloured: 0, place: new Int32Array(), left: short, right: short };
}

/** Adds those of a history's segments that are not in yet. */
export function pushSegmentRows(rows: SegmentRows, segments: readonly RenderedSegment[], loops: VectorLoops): void {
  for (; rows.segments < segments.length; rows.segments++) {
    const segment = segments[rows.segments];
    if (segment) addSegment(rows, segment, loops);
  }
}

/** Counts the memory that is allocated for rows, spare room included. */
export function segmentRowsBytes({ green, red, blue, place, left, right }: SegmentRows): number {
  return [green, red, blue, place, left, right].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Returns how much is allocated where so much is needed: a history that grows moves a few times, and no allocation is mostly spare. */
export function roomFor(needed: number): number {
  return needed + (needed >> 1);
}

function addSegment(rows: SegmentRows, segment: RenderedSegment, loops: VectorLoops): void {
  const { height } = segment;
  const [row, place] = [rows.rows, rows.coloured];
  const coloured = notePlaces(rows, segment);
  reserve(rows);
  const drawn = (height + 2 * coloured.length) * rows.across + SPARE;
  const bytes = loops.reserve(drawn);
  spread(rows, segment, coloured, bytes);
  const at = rows.width === rows.across ? 0 : squeeze(rows, height + 2 * coloured.length, drawn, loops);
  const [mixed, size] = [loops.reserve(0), rows.width];
  const red = at + height * size;
  const blue = red + coloured.length * size;
  rows.green.set(mixed.subarray(at, red), row * size);
  rows.red.set(mixed.subarray(red, blue), place * size);
  rows.blue.set(mixed.subarray(blue, blue + coloured.length * size), place * size);
}

/** Notes of each row where it is coloured. Returns those that are, from the top of the segment. */
function notePlaces(rows: SegmentRows, { height, patches }: RenderedSegment): number[] {
  const first = rows.rows;
  rows.rows += height;
  if (rows.rows > rows.place.length) {
    const room = roomFor(rows.rows);
    rows.place = grown(rows.place, new Int32Array(room));
    for (const side of ['left', 'right'] as const) rows[side] = grown(rows[side], new Uint16Array(room));
  }
  const columns = rows.width === rows.across ? null : packColumns(weigh(rows.across, rows.width));
  const coloured: number[] = [];
  for (let y = 0; y < height; y++) {
    const own = patches.filter((patch) => y >= patch.y && y < patch.y + patch.height);
    rows.place[first + y] = own.length === 0 ? -1 : rows.coloured++;
    if (own.length === 0) continue;
    coloured.push(y);
    const left = smallest(own.map(({ x }) => x));
    const right = largest(own.map(({ x, width }) => x + width));
    const [begin, end] = columns ? outputsOver(columns, left, right) : [left, right];
    rows.left[first + y] = begin;
    rows.right[first + y] = end;
  }
  return coloured;
}

/** Writes the rows of a segment as they were drawn: all in green, then those with colour in red, then in blue. */
function spread({ across }: SegmentRows, segment: RenderedSegment, coloured: readonly number[], bytes: Uint8Array): void {
  const { height, bandHeight, ends, grey, patches } = segment;
  bytes.fill(255, 0, height * across);
  for (let y = 0, at = 0; y < height; y++) {
    const end = ends[(y / bandHeight) | 0] as number; // a band for each row
    bytes.set(grey.subarray(at, at + end), y * across);
    at += end;
  }
  for (const [i, y] of coloured.entries()) {
    for (const channel of [0, 2] as const) {
      const to = (height + i + (channel === 0 ? 0 : coloured.length)) * across;
      bytes.copyWithin(to, y * across, (y + 1) * across);
      for (const patch of patches) {
        if (y < patch.y || y >= patch.y + patch.height) continue;
        const from = (y - patch.y) * patch.width * 3 + channel;
        for (let x = 0; x < patch.width; x++) bytes[to + patch.x + x] = patch.rgb[from + x * 3] as number; // x < width
      }
    }
  }
}

/** Does the pass over columns of `count` rows from byte 0. Returns where it wrote them, without a gap. */
function squeeze({ across, width }: SegmentRows, count: number, used: number, loops: VectorLoops): number {
  const { groups, bytes: weights, first } = packColumns(weigh(across, width));
  const firstAt = Math.ceil(used / 16) * 16;
  const weightsAt = firstAt + Math.ceil(first.byteLength / 16) * 16;
  const to = weightsAt + weights.length;
  const bytes = loops.reserve(to + count * width + SPARE);
  bytes.set(new Uint8Array(first.buffer), firstAt);
  bytes.set(weights, weightsAt);
  for (let row = 0; row < count; row++) loops.mixColumns(row * across, firstAt, weightsAt, groups, to + row * width, width);
  return to;
}

function reserve(rows: SegmentRows): void {
  const [whole, part] = [rows.rows * rows.width, rows.coloured * rows.width];
  if (whole > rows.green.length) rows.green = grown(rows.green, new Uint8Array(roomFor(whole)));
  if (part <= rows.red.length) return;
  const room = roomFor(part);
  for (const channel of ['red', 'blue'] as const) rows[channel] = grown(rows[channel], new Uint8Array(room));
}

function grown<T extends Uint8Array | Uint16Array | Int32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
