import { addUp, type Totals } from './choose-shown.ts';
import type { HistorySizes } from './history-sizes.ts';
import type { RgbRows } from './lanczos.ts';
import type { RenderSpec } from './render-spec.ts';
import { type RenderedSegment, writeSegment } from './rendered-segment.ts';
import type { CachedSegment } from './segment-cache.ts';

/** The rows of one history, with room for the border around and for more rows below: what was stacked once stays where it is. */
export interface HistoryStack {
  readonly spec: RenderSpec;
  readonly entries: CachedSegment[];
  /** What the entries hold, and their sums. */
  readonly segments: RenderedSegment[];
  totals: Totals;
  /** Rows of segments. */
  rows: number;
  rgb: Uint8Array;
  /** Bytes of a row, the border reckoned in. */
  readonly stride: number;
  used: number;
  /** Changes with each render: a view of an older one is stale. */
  version: number;
}

/** Makes a stack without a row. */
export function openStack(spec: RenderSpec): HistoryStack {
  const stride = (spec.layout.width + 2 * spec.border) * 3;
  return { spec, entries: [], segments: [], totals: addUp([]), rows: 0, rgb: new Uint8Array(), stride, used: 0, version: 0 };
}

/** Adds segments below the others. */
export function pushSegments(stack: HistoryStack, entries: readonly CachedSegment[]): void {
  const { spec, stride } = stack;
  const rows = entries.reduce((sum, { segment }) => sum + segment.height, stack.rows);
  const above = stack.entries.length === 0 ? 0 : spec.border + stack.rows;
  reserve(stack, (2 * spec.border + spec.resize.unit + rows) * stride, above * stride);
  stack.rgb.fill(255, above * stride, (spec.border + rows) * stride);
  for (const { segment } of entries) {
    writeSegment(segment, stack.rgb, (spec.border + stack.rows) * stride + spec.border * 3, stride);
    stack.rows += segment.height;
    stack.segments.push(segment);
  }
  stack.entries.push(...entries);
  stack.totals = addUp(stack.segments.slice(stack.segments.length - entries.length), stack.totals);
}

/** Gives the bordered image of a stack that is not resized: a view of its bytes, which the next rows overwrite at the lower border. */
export function viewStack({ rgb, stride, spec, rows }: HistoryStack, { bordered }: HistorySizes): Uint8Array {
  rgb.fill(255, (spec.border + rows) * stride, bordered.height * stride);
  return rgb.subarray(0, bordered.height * stride);
}

/** Gives the rows without their border, for a resize. */
export function rawRows({ rgb, stride, spec, rows }: HistoryStack): RgbRows {
  return { width: spec.layout.width, height: rows, rgb, at: spec.border * stride + spec.border * 3, stride };
}

/** Holds 50 steps of ALFWorld, its longest episode, so that most stacks never move. What is not written takes no memory. */
const FIRST_BYTES = 2 << 20;

function reserve(stack: HistoryStack, bytes: number, keep: number): void {
  if (bytes <= stack.rgb.length) return;
  // Pages that were never written take no memory, so the spare half costs address space only.
  const larger = new Uint8Array(Math.max(bytes * 2, FIRST_BYTES));
  larger.set(stack.rgb.subarray(0, keep));
  stack.rgb = larger;
}
