import { weigh } from './lanczos.ts';
import type { NarrowRows } from './narrow-rows.ts';

/** Where an image lies in a larger one: its first pixel at byte `at`, rows `stride` bytes apart. */
interface Place {
  readonly rgb: Uint8Array;
  readonly at: number;
  readonly stride: number;
}

const HALF = 1 << 21;

/**
 * Does the second pass of a resize, over rows. Returns the bytes that `resizeLanczos` returns for the rows as they were drawn.
 * What is white is not written: `to` is white.
 */
export function resizeNarrow(narrow: NarrowRows, height: number, to: Place): void {
  const { from, count, values, most } = weigh(narrow.rows, height);
  const sums = new Int32Array(narrow.width);
  for (let y = 0; y < height; y++) {
    const first = from[y] as number; // y < height, as long as the weights
    const last = first + (count[y] as number);
    let [end, left, right] = [0, narrow.width, 0];
    for (let row = first; row < last; row++) {
      end = Math.max(end, narrow.ends[row] as number); // the window lies inside the rows
      if (narrow.right[row] === 0) continue;
      left = Math.min(left, narrow.left[row] as number);
      right = Math.max(right, narrow.right[row] as number);
    }
    const at = to.at + y * to.stride;
    addRows(narrow, 1, sums, first, last, values, y * most, 0, end);
    writeGrey(sums, to.rgb, at, end);
    if (left >= right) continue;
    for (const channel of [0, 2] as const) {
      addRows(narrow, channel, sums, first, last, values, y * most, left, right);
      writeChannel(sums, to.rgb, at + channel, left, right);
    }
  }
}

/** Sums up the columns [left, right) of rows [first, last), four at a time: a sum is then loaded and stored once for four. */
function addRows(
  { planes, width, right: coloured }: NarrowRows,
  channel: 0 | 1 | 2,
  sums: Int32Array,
  first: number,
  last: number,
  values: Int32Array,
  weights: number,
  left: number,
  right: number,
): void {
  const green = planes[1];
  sums.fill(HALF, left, right);
  for (let row = first, k = weights; row < last; row += 4, k += 4) {
    // Rows behind the last weigh nothing and are read where the last is.
    const [ra, rb, rc, rd] = [row, Math.min(row + 1, last - 1), Math.min(row + 2, last - 1), Math.min(row + 3, last - 1)];
    const plane = planes[channel];
    const pa = coloured[ra] === 0 ? green : plane;
    const pb = coloured[rb] === 0 ? green : plane;
    const pc = coloured[rc] === 0 ? green : plane;
    const pd = coloured[rd] === 0 ? green : plane;
    const wa = values[k] as number;
    const wb = row + 1 < last ? (values[k + 1] as number) : 0;
    const wc = row + 2 < last ? (values[k + 2] as number) : 0;
    const wd = row + 3 < last ? (values[k + 3] as number) : 0;
    addFour(sums, pa, ra * width, wa, pb, rb * width, wb, pc, rc * width, wc, pd, rd * width, wd, left, right);
  }
}

function addFour(
  sums: Int32Array,
  pa: Uint8Array,
  a: number,
  wa: number,
  pb: Uint8Array,
  b: number,
  wb: number,
  pc: Uint8Array,
  c: number,
  wc: number,
  pd: Uint8Array,
  d: number,
  wd: number,
  left: number,
  right: number,
): void {
  for (let x = left; x < right; x++) {
    const upper = wa * (pa[a + x] as number) + wb * (pb[b + x] as number); // x < width, and each row is whole
    const lower = wc * (pc[c + x] as number) + wd * (pd[d + x] as number);
    sums[x] = ((sums[x] as number) + upper + lower) | 0;
  }
}

function writeGrey(sums: Int32Array, rgb: Uint8Array, at: number, end: number): void {
  for (let x = 0, to = at; x < end; x++, to += 3) {
    const sum = (sums[x] as number) >> 22; // x < end <= width
    if (sum >= 255) continue; // it is white there
    const value = Math.max(sum, 0);
    rgb[to] = value;
    rgb[to + 1] = value;
    rgb[to + 2] = value;
  }
}

function writeChannel(sums: Int32Array, rgb: Uint8Array, at: number, left: number, right: number): void {
  for (let x = left, to = at + left * 3; x < right; x++, to += 3) {
    const sum = (sums[x] as number) >> 22; // x < right <= width
    rgb[to] = sum < 0 ? 0 : Math.min(sum, 255);
  }
}
