import type { HistorySizes, Size } from './history-sizes.ts';
import { outputsOver, type PackedColumns, packColumns, packRows } from './resize/pack-weights.ts';
import { MOST_BYTES, VECTOR, type VectorLoops } from './resize/vector-loops.ts';
import { type Weights, weigh } from './resize/weigh.ts';
import type { SegmentRows } from './segment-rows.ts';

/**
 * Resizes rows and writes them with a white border to `into`, as many bytes as the image has. They are the bytes that
 * `resizeLanczos` returns for the rows as they were drawn. The pass over columns comes second, where it was not done when the
 * rows were added. Returns false, and writes nothing, where the loops have not enough memory or the image is narrower than a
 * vector.
 */
export function resizeRows(
  rows: SegmentRows,
  sizes: HistorySizes,
  border: number,
  into: Uint8Array,
  loops: VectorLoops,
): boolean {
  const { resized, bordered } = sizes;
  const down = weigh(rows.rows, resized.height);
  const along = rows.width === resized.width ? null : packColumns(weigh(rows.width, resized.width));
  const places = layOut(rows, down, along, resized, bordered);
  if (places.used > MOST_BYTES || resized.width < VECTOR) return false;
  const memory = loops.reserve(places.used);
  fillIn(memory, places, rows, down, along);
  const stride = bordered.width * 3;
  memory.fill(255, places.band, places.band + BAND * stride); // the border stays white
  into.fill(255, 0, border * stride);
  for (let y = 0; y < resized.height; y += BAND) {
    const count = Math.min(BAND, resized.height - y);
    for (let i = 0; i < count; i++) {
      resizeRow(rows, down, along, places, y + i, places.band + i * stride + border * 3, resized.width, loops);
    }
    into.set(memory.subarray(places.band, places.band + count * stride), (border + y) * stride);
  }
  into.fill(255, (border + resized.height) * stride);
  return true;
}

const BAND = 32; // rows that stay in the nearest cache until they are copied

type Channels = readonly [red: number, green: number, blue: number];

/** Where things lie in the memory of the loops. */
interface Places {
  readonly rowWeights: number;
  readonly first: number;
  readonly columnWeights: number;
  /** Rows of each channel, and tables of their addresses. */
  readonly planes: Channels;
  readonly tables: Channels;
  /** One row of each channel behind the pass over rows, and behind the one over columns. */
  readonly mixed: Channels;
  readonly final: Channels;
  /** Some rows of the image. */
  readonly band: number;
  readonly used: number;
}

const SPARE = 64; // bytes that loops read or write behind the last

function layOut(rows: SegmentRows, down: Weights, along: PackedColumns | null, resized: Size, bordered: Size): Places {
  let used = 0;
  const take = (bytes: number): number => {
    const at = used;
    used += Math.ceil((bytes + SPARE) / 16) * 16;
    return at;
  };
  const three = (bytes: number, other = bytes): Channels => [take(other), take(bytes), take(other)];
  const places = {
    rowWeights: take(packRows(down).bytes.length),
    first: take(along ? along.first.byteLength : 0),
    columnWeights: take(along ? along.bytes.length : 0),
    planes: three(rows.rows * rows.width, rows.coloured * rows.width),
    tables: three((rows.rows + packRows(down).pairs * 2) * 4),
    mixed: three(rows.width),
    final: three(resized.width),
    band: take(bordered.width * 3 * BAND),
  };
  return { ...places, final: along ? places.final : places.mixed, used };
}

function fillIn(memory: Uint8Array, places: Places, rows: SegmentRows, down: Weights, along: PackedColumns | null): void {
  const { width, place } = rows;
  memory.set(packRows(down).bytes, places.rowWeights);
  if (along) {
    memory.set(new Uint8Array(along.first.buffer), places.first);
    memory.set(along.bytes, places.columnWeights);
  }
  const [red, green, blue] = places.planes;
  memory.set(rows.red.subarray(0, rows.coloured * width), red);
  memory.set(rows.green.subarray(0, rows.rows * width), green);
  memory.set(rows.blue.subarray(0, rows.coloured * width), blue);
  const count = rows.rows + packRows(down).pairs * 2;
  const tables = places.tables.map((at) => new Int32Array(memory.buffer, at, count).fill(green)); // what weighs nothing may be any row
  const [reds, greens, blues] = tables as [Int32Array, Int32Array, Int32Array];
  for (let row = 0; row < rows.rows; row++) {
    const plain = green + row * width;
    const at = place[row] as number; // a place for each row
    greens[row] = plain;
    reds[row] = at < 0 ? plain : red + at * width;
    blues[row] = at < 0 ? plain : blue + at * width;
  }
}

function resizeRow(
  rows: SegmentRows,
  down: Weights,
  along: PackedColumns | null,
  { tables, mixed, final, rowWeights, columnWeights, first }: Places,
  y: number,
  to: number,
  width: number,
  loops: VectorLoops,
): void {
  const { pairs } = packRows(down);
  const { place, left, right } = rows;
  const from = down.from[y] as number; // y < outputs
  const weights = rowWeights + y * pairs * 8;
  loops.mixRows(tables[1] + from * 4, 0, weights, pairs, mixed[1], rows.width);
  if (along) loops.mixColumns(mixed[1], first, columnWeights, along.groups, final[1], width);
  loops.spreadGrey(final[1], to, width);
  let [begin, end] = [rows.width, 0];
  for (let row = from, last = from + (down.count[y] as number); row < last; row++) {
    if ((place[row] as number) < 0) continue; // the window lies inside the rows
    if ((left[row] as number) < begin) begin = left[row] as number;
    if ((right[row] as number) > end) end = right[row] as number;
  }
  if (begin >= end) return;
  if (along) [begin, end] = outputsOver(along, begin, end);
  [begin, end] = [Math.min(begin, width - VECTOR), Math.min(Math.max(end, begin + VECTOR), width)];
  const inputs = along ? (along.from[begin] as number) : begin;
  const inputsEnd = along ? (along.from[end - 1] as number) + (along.count[end - 1] as number) : end;
  for (const channel of RED_AND_BLUE) {
    loops.mixRows(tables[channel] + from * 4, inputs, weights, pairs, mixed[channel] + inputs, inputsEnd - inputs);
    if (!along) continue;
    const [starts, columns] = [first + begin * 4, columnWeights + begin * along.groups * 32];
    loops.mixColumns(mixed[channel], starts, columns, along.groups, final[channel] + begin, end - begin);
  }
  loops.weave(final[0] + begin, final[1] + begin, final[2] + begin, to + begin * 3, end - begin);
}

const RED_AND_BLUE = [0, 2] as const;
