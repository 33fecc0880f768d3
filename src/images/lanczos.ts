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

/** The weights with which input positions make each output position, as 22-bit fixed-point numbers. */
export interface Weights {
  /** Per output: first input and count. */
  readonly from: Int32Array;
  readonly count: Int32Array;
  /** `most` per output. */
  readonly values: Int32Array;
  readonly most: number;
}

/**
 * Resizes by Lanczos with 3 lobes as Pillow does on 8-bit channels (specification §1.8): columns first, rounded to 8 bits, then
 * rows. A picture without a row or a column comes out black. @throws RangeError when a size is no positive whole number.
 */
export function resizeLanczos(image: RgbRows, width: number, height: number): RgbImage {
  for (const side of [width, height])
    if (!Number.isSafeInteger(side) || side < 1) throw new RangeError(`no image is ${width}x${height}`);
  if (image.width === 0 || image.height === 0) return { width, height, rgb: new Uint8Array(width * height * 3) };
  const narrow = image.width === width ? image : resizeColumns(image, width);
  return narrow.height === height ? narrow : resizeRows(narrow, height);
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

function resizeRows({ width, height: down, rgb, at: first, stride: step }: RgbRows, height: number): RgbImage {
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
  return { width, height, rgb: new Uint8Array(out.buffer) };
}

const BITS = 22;
const HALF = 1 << (BITS - 1);

const kept = new Map<number, Weights>();

/** Computes the weights of one axis. The last few are kept: siblings are resized by the same factor. */
export function weigh(input: number, output: number): Weights {
  const key = input * 65_536 * 4 + output;
  const known = kept.get(key);
  if (known) return known;
  const scale = input / output;
  const filterScale = Math.max(scale, 1);
  const support = 3 * filterScale;
  const inverse = 1 / filterScale;
  const most = Math.ceil(support) * 2 + 1;
  const [from, count, values] = [new Int32Array(output), new Int32Array(output), new Int32Array(output * most)];
  const exact = new Float64Array(most);
  for (let i = 0; i < output; i++) {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - support + 0.5));
    const n = Math.min(input, Math.trunc(centre + support + 0.5)) - first;
    let sum = 0;
    for (let k = 0; k < n; k++) {
      const weight = lanczos3((k + first - centre + 0.5) * inverse);
      exact[k] = weight;
      sum += weight;
    }
    for (let k = 0; k < n; k++) {
      const share = ((exact[k] ?? 0) / sum) * (1 << BITS);
      values[i * most + k] = Math.trunc(share < 0 ? share - 0.5 : share + 0.5);
    }
    from[i] = first;
    count[i] = n;
  }
  if (kept.size >= 64) kept.clear();
  const weights = { from, count, values, most };
  kept.set(key, weights);
  return weights;
}

function lanczos3(x: number): number {
  return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

function sinc(x: number): number {
  if (x === 0) return 1;
  const t = x * Math.PI;
  return Math.sin(t) / t;
}
