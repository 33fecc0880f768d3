import { weigh } from './lanczos.ts';
import type { RenderedSegment } from './rendered-segment.ts';

/**
 * Rows of segments after the first pass of a resize: `width` columns of the `across` that they were drawn with. That pass does
 * not look at other rows, so what was made narrow once is kept while a history grows. Green represents all three channels but in
 * the columns [left, right) of coloured rows.
 */
export interface NarrowRows {
  readonly across: number;
  readonly width: number;
  /** Segments and rows that are in. */
  segments: number;
  rows: number;
  /** Red, green, blue. In red and blue only coloured rows are written; there they are whole. */
  readonly planes: [Uint8Array, Uint8Array, Uint8Array];
  /** Per row: the end of what may not be white, and the coloured columns. */
  ends: Uint16Array;
  left: Uint16Array;
  right: Uint16Array;
}

/** Makes narrow rows without a row. */
export function openNarrowRows(across: number, width: number): NarrowRows {
  const none = () => new Uint16Array();
  const planes: NarrowRows['planes'] = [new Uint8Array(), new Uint8Array(), new Uint8Array()];
  return { across, width, segments: 0, rows: 0, planes, ends: none(), left: none(), right: none() };
}

/** Adds those of a history's segments that are not in yet. */
export function pushNarrow(narrow: NarrowRows, segments: readonly RenderedSegment[]): void {
  for (; narrow.segments < segments.length; narrow.segments++) {
    const segment = segments[narrow.segments];
    if (segment) addSegment(narrow, segment);
  }
}

/** Computes the memory of narrow rows: green, and the half of red and blue that is coloured at most in practice. */
export function narrowBytes({ rows, width }: NarrowRows): number {
  return rows * (width * 2 + 6);
}

function addSegment(narrow: NarrowRows, { height, width, bandHeight, ends, grey, patches }: RenderedSegment): void {
  reserve(narrow, narrow.rows + height);
  const { from, count } = weigh(narrow.across, narrow.width);
  const row = new Uint8Array(width);
  let at = 0;
  for (let y = 0; y < height; y++, narrow.rows++) {
    const end = ends[(y / bandHeight) | 0] ?? 0;
    row.fill(255, end);
    row.set(grey.subarray(at, at + end));
    at += end;
    const own = patches.filter((patch) => y >= patch.y && y < patch.y + patch.height);
    const last = Math.max(end, ...own.map((patch) => patch.x + patch.width));
    let reach = 0;
    while (reach < narrow.width && (from[reach] ?? 0) < last) reach++;
    narrow.ends[narrow.rows] = reach;
    const to = narrow.rows * narrow.width;
    squeeze(narrow, 1, row, to, 0, reach);
    narrow.planes[1].fill(255, to + reach, to + narrow.width);
    if (own.length === 0) continue;
    const begin = Math.min(...own.map(({ x }) => x));
    const stop = Math.max(...own.map((patch) => patch.x + patch.width));
    let left = 0;
    while (left < narrow.width && (from[left] ?? 0) + (count[left] ?? 0) <= begin) left++;
    let right = left;
    while (right < narrow.width && (from[right] ?? 0) < stop) right++;
    narrow.left[narrow.rows] = left;
    narrow.right[narrow.rows] = right;
    for (const channel of [0, 2] as const) {
      narrow.planes[channel].set(narrow.planes[1].subarray(to, to + narrow.width), to);
      for (const patch of own) {
        const first = (y - patch.y) * patch.width * 3 + channel;
        for (let x = 0; x < patch.width; x++) row[patch.x + x] = patch.rgb[first + x * 3] ?? 255;
      }
      squeeze(narrow, channel, row, to, left, right);
    }
  }
}

/** Computes columns [left, right) of one row of one channel. */
function squeeze(
  { across, width, planes }: NarrowRows,
  channel: 0 | 1 | 2,
  row: Uint8Array,
  to: number,
  left: number,
  right: number,
): void {
  const { from, count, values, most } = weigh(across, width);
  const plane = planes[channel];
  for (let x = left; x < right; x++) {
    let at = from[x] as number; // x < width, as long as the weights
    let sum = 1 << 21;
    for (let k = x * most, end = k + (count[x] as number); k < end; k++, at++) {
      sum = (sum + (values[k] as number) * (row[at] as number)) | 0;
    }
    sum >>= 22;
    plane[to + x] = sum < 0 ? 0 : Math.min(sum, 255);
  }
}

/** Pages of the planes that are never written take no memory, but green is white where nothing is drawn, and so written whole. */
function reserve(narrow: NarrowRows, rows: number): void {
  if (rows <= narrow.ends.length) return;
  const room = Math.max(rows * 2, 1600);
  for (const channel of [0, 1, 2] as const) {
    const larger = new Uint8Array(room * narrow.width);
    larger.set(narrow.planes[channel].subarray(0, narrow.rows * narrow.width));
    narrow.planes[channel] = larger;
  }
  const longer = (old: Uint16Array): Uint16Array => {
    const array = new Uint16Array(room);
    array.set(old);
    return array;
  };
  [narrow.ends, narrow.left, narrow.right] = [longer(narrow.ends), longer(narrow.left), longer(narrow.right)];
}
