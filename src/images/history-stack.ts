import { smallest } from '../domain/extremes.ts';
import { addUp, type Totals } from './choose-shown.ts';
import { widthOfRows } from './compose-history.ts';
import type { HistorySizes } from './history-sizes.ts';
import type { RenderSpec } from './render-spec.ts';
import { type RenderedSegment, writePatches, writeSegment } from './rendered-segment.ts';
import { VECTOR, type VectorLoops, vectorLoops } from './resize/vector-loops.ts';
import { resizeRows } from './resize-rows.ts';
import type { CachedSegment } from './segment-cache.ts';
import { openSegmentRows, pushSegmentRows, roomFor, type SegmentRows, segmentRowsBytes } from './segment-rows.ts';

/** The rows of one history, with room for the border around and for more rows below: what was stacked once stays where it is. */
export interface HistoryStack {
  readonly spec: RenderSpec;
  readonly entries: CachedSegment[];
  /** What the entries hold, and their sums. */
  readonly segments: RenderedSegment[];
  totals: Totals;
  /**
   * Rows of segments that are in `rgb`, and the number of those segments. A stack that is only asked for smaller images has none.
   */
  rows: number;
  stacked: number;
  rgb: Uint8Array;
  /** What a resize keeps, and its image, used again for the next. */
  resizing: SegmentRows | undefined;
  framed: { rgb: Uint8Array; version: number };
  /** Bytes of a row, the border counted in. */
  readonly stride: number;
  used: number;
  /** The episode that it was drawn for last. */
  episode: string | undefined;
  /** Bytes that its entries hold: a cache may have dropped them. */
  entryBytes: number;
  /** Bytes that its renderer counts of it; 0 when that does not keep it. */
  counted: number;
  /** Changes with each render: a view of an older one is stale. */
  version: number;
}

/** Makes a stack without a row. */
export function openStack(spec: RenderSpec): HistoryStack {
  const stride = (spec.layout.width + 2 * spec.border) * 3;
  return {
    spec,
    entries: [],
    segments: [],
    totals: addUp([]),
    rows: 0,
    stacked: 0,
    rgb: new Uint8Array(),
    resizing: undefined,
    framed: { rgb: new Uint8Array(), version: 0 },
    stride,
    used: 0,
    episode: undefined,
    entryBytes: 0,
    counted: 0,
    version: 0,
  };
}

/** Adds segments to what the history is. */
export function pushSegments(stack: HistoryStack, entries: readonly CachedSegment[]): void {
  for (const entry of entries) {
    stack.entries.push(entry);
    stack.segments.push(entry.segment);
    stack.entryBytes += entry.bytes + REFERENCE_BYTES;
  }
  stack.totals = addUp(
    entries.map(({ segment }) => segment),
    stack.totals,
  );
}

/** Writes those segments below the others that are not there yet. */
export function stackRows(stack: HistoryStack): void {
  const { spec, stride, segments, totals } = stack;
  const above = stack.stacked === 0 ? 0 : spec.border + stack.rows;
  reserve(stack, (2 * spec.border + spec.resize.unit + totals.height) * stride, above * stride);
  if (above === 0) stack.rgb.fill(255, 0, spec.border * stride);
  for (const segment of segments.slice(stack.stacked)) {
    writeBordered(segment, stack.rgb, (spec.border + stack.rows) * stride, stride, spec.border);
    stack.rows += segment.height;
  }
  stack.stacked = segments.length;
}

/** Adds those segments to what is resized that are not there yet. Rows of another width begin again. */
export function resizingRows(stack: HistoryStack, sizes: HistorySizes, loops: VectorLoops): SegmentRows {
  const width = widthOfRows(stack.spec, sizes);
  if (stack.resizing?.width !== width) stack.resizing = openSegmentRows(sizes.raw.width, width);
  pushSegmentRows(stack.resizing, stack.segments, loops);
  return stack.resizing;
}

/**
 * Returns the bordered image of rows, resized: a view of bytes that the next one of this stack overwrites. Null where the loops
 * cannot make it.
 */
export function viewResized(stack: HistoryStack, rows: SegmentRows, sizes: HistorySizes, loops: VectorLoops): Uint8Array | null {
  const { framed, spec, version } = stack;
  const size = sizes.bordered.width * sizes.bordered.height * 3;
  if (framed.rgb.length < size) framed.rgb = new Uint8Array(roomFor(size));
  const rgb = framed.rgb.subarray(0, size);
  if (framed.version === version) return rgb;
  if (!resizeRows(rows, sizes, spec.border, rgb, loops)) return null;
  framed.version = version;
  return rgb;
}

/** Counts the memory that is allocated for a stack, spare room and segments included; those of several stacks count for each. */
export function stackBytes({ rgb, entryBytes, resizing, framed }: HistoryStack): number {
  return rgb.length + framed.rgb.length + entryBytes + (resizing ? segmentRowsBytes(resizing) : 0);
}

/**
 * Returns the bordered image of a stack that is not resized: a view of its bytes, which the next rows overwrite at the lower
 * border.
 */
export function viewStack({ rgb, stride, spec, rows }: HistoryStack, { bordered }: HistorySizes): Uint8Array {
  rgb.fill(255, (spec.border + rows) * stride, bordered.height * stride);
  return rgb.subarray(0, bordered.height * stride);
}

const REFERENCE_BYTES = 100; // two references to an entry, and what its closure holds

function reserve(stack: HistoryStack, bytes: number, keep: number): void {
  if (bytes <= stack.rgb.length) return;
  const larger = new Uint8Array(roomFor(bytes));
  larger.set(stack.rgb.subarray(0, keep));
  stack.rgb = larger;
}

/**
 * Writes the rows of a segment with a white border left and right: whole rows of `stride` bytes, the first at byte `at`. They are
 * made in the memory of the loops and copied once.
 */
function writeBordered(segment: RenderedSegment, rgb: Uint8Array, at: number, stride: number, border: number): void {
  const { height, ends, grey, bandHeight } = segment;
  const loops = vectorLoops();
  const narrowest = smallest(ends);
  if (!loops || narrowest < VECTOR) {
    rgb.fill(255, at, at + height * stride);
    writeSegment(segment, rgb, at + border * 3, stride);
    return;
  }
  const rows = Math.ceil(grey.length / VECTOR) * VECTOR;
  const memory = loops.reserve(rows + height * stride);
  memory.set(grey);
  memory.fill(255, rows, rows + height * stride);
  for (let y = 0, from = 0; y < height; y++) {
    const end = ends[(y / bandHeight) | 0] as number; // a band for each row
    loops.spreadGrey(from, rows + y * stride + border * 3, end);
    from += end;
  }
  writePatches(segment, memory, rows + border * 3, stride);
  rgb.set(memory.subarray(rows, rows + height * stride), at);
}
