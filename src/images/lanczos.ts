import { weigh } from './resize/weigh.ts';

/** Pixels of a picture with 3 channels of 8 bits. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** Rows of a picture that lies inside a wider one: the first at byte `at`, each next one `stride` bytes further. */
export interface RgbRows extends RgbImage {
  readonly at: number;
  readonly stride: number;
}

/** Which pass comes first: between both, values are rounded to 8 bits. */
export type PassOrder = 'columns-first' | 'rows-first';

/**
 * Resizes by Lanczos with 3 lobes as Pillow does on 8-bit channels (specification §1.8), in two passes. A picture
 * without a row or a column comes out black. This is the plain form, which says what `resizeRows` has to return.
 * @throws RangeError when a size is no positive whole number.
 */
export function resizeLanczos(image: RgbRows, width: number, height: number, order: PassOrder = 'columns-first'): RgbImage {
  for (const side of [width, height])
    if (!Number.isSafeInteger(side) || side < 1) throw new RangeError(`no image is ${width}x${height}`);
  if (image.width === 0 || image.height === 0) return { width, height, rgb: new Uint8Array(width * height * 3) };
  const along = (rows: RgbRows): RgbRows => (rows.width === width ? rows : resizeColumns(rows, width));
  const down = (rows: RgbRows): RgbRows => (rows.height === height ? rows : resizeRows(rows, height));
  return order === 'rows-first' ? along(down(image)) : down(along(image));
}

function resizeColumns({ width: across, height, rgb, at: first, stride }: RgbRows, width: number): RgbRows {
  const { from, count, values, most } = weigh(across, width);
  const out = new Uint8ClampedArray(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const row = first + y * stride;
    for (let x = 0; x < width; x++) {
      let at = row + (from[x] as number) * 3; // x < width, as long as the weights
      let weight = x * most;
      let [r, g, b] = [HALF, HALF, HALF];
      for (const end = weight + (count[x] as number); weight < end; weight++, at += 3) {
        const w = values[weight] as number;
        r += w * (rgb[at] as number);
        g += w * (rgb[at + 1] as number);
        b += w * (rgb[at + 2] as number);
      }
      out[to++] = r >> BITS;
      out[to++] = g >> BITS;
      out[to++] = b >> BITS;
    }
  }
  return { width, height, rgb: new Uint8Array(out.buffer), at: 0, stride: width * 3 };
}

function resizeRows({ width, height: down, rgb, at: first, stride: step }: RgbRows, height: number): RgbRows {
  const { from, count, values, most } = weigh(down, height);
  const stride = width * 3;
  const out = new Uint8ClampedArray(stride * height);
  const sums = new Int32Array(stride);
  for (let y = 0; y < height; y++) {
    sums.fill(HALF);
    const n = count[y] as number; // y < height, as long as the weights
    for (let k = 0; k < n; k++) {
      const w = values[y * most + k] as number;
      const row = first + ((from[y] as number) + k) * step;
      for (let x = 0; x < stride; x++) sums[x] = ((sums[x] as number) + w * (rgb[row + x] as number)) | 0;
    }
    const to = y * stride;
    for (let x = 0; x < stride; x++) out[to + x] = (sums[x] as number) >> BITS;
  }
  return { width, height, rgb: new Uint8Array(out.buffer), at: 0, stride };
}

const BITS = 22;
const HALF = 1 << (BITS - 1);
