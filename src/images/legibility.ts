import type { Size } from './history-sizes.ts';
import { type RgbRows, resizeLanczos } from './lanczos.ts';

const WINDOW = 8; // px a side: about one character of the fonts that histories are drawn with
const STRIDE = 4;
const INK = 32; // how much darker than paper one pixel of a window has to be
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;

/**
 * Measures how much of the strokes of a drawn text is left when it is resized: the mean structural similarity (SSIM; Wang et al.
 * 2004, with uniform windows of 8 px) of what was drawn and of the resized image enlarged to its size again, over the windows
 * with ink. 1 where nothing changes; null where nothing is drawn.
 */
export function legibility(rows: RgbRows, resized: Size): number | null {
  if (rows.width === 0 || rows.height === 0) return null;
  const small = resizeLanczos(rows, Math.max(1, resized.width), Math.max(1, resized.height));
  const back = resizeLanczos({ ...small, at: 0, stride: small.width * 3 }, rows.width, rows.height);
  const original = greys(rows);
  const returned = greys({ ...back, at: 0, stride: back.width * 3 });
  let [sum, windows] = [0, 0];
  for (let y = 0; y < rows.height; y += STRIDE) {
    for (let x = 0; x < rows.width; x += STRIDE) {
      const similarity = similar(original, returned, rows, x, y);
      if (similarity === null) continue;
      sum += similarity;
      windows++;
    }
  }
  return windows === 0 ? null : Math.max(0, sum / windows);
}

/** The mean of the three channels, which also sees coloured text. */
function greys({ width, height, rgb, at, stride }: RgbRows): Float32Array {
  const grey = new Float32Array(width * height);
  for (let y = 0, to = 0; y < height; y++) {
    for (let from = at + y * stride, end = from + width * 3; from < end; from += 3) {
      grey[to++] = ((rgb[from] as number) + (rgb[from + 1] as number) + (rgb[from + 2] as number)) / 3; // rows are whole
    }
  }
  return grey;
}

/** The similarity in the window at a place; null where nothing is drawn in it. */
function similar(a: Float32Array, b: Float32Array, { width, height }: Size, left: number, top: number): number | null {
  const [right, bottom] = [Math.min(width, left + WINDOW), Math.min(height, top + WINDOW)];
  let [darkest, sumA, sumB, squaresA, squaresB, products] = [255, 0, 0, 0, 0, 0];
  for (let y = top; y < bottom; y++) {
    for (let at = y * width + left, end = y * width + right; at < end; at++) {
      const [one, other] = [a[at] as number, b[at] as number]; // inside of both, which are as large
      if (one < darkest) darkest = one;
      sumA += one;
      sumB += other;
      squaresA += one * one;
      squaresB += other * other;
      products += one * other;
    }
  }
  if (255 - darkest < INK) return null;
  const n = (right - left) * (bottom - top);
  const [meanA, meanB] = [sumA / n, sumB / n];
  const [varianceA, varianceB] = [squaresA / n - meanA * meanA, squaresB / n - meanB * meanB];
  const covariance = products / n - meanA * meanB;
  return (
    ((2 * meanA * meanB + C1) * (2 * covariance + C2)) / ((meanA * meanA + meanB * meanB + C1) * (varianceA + varianceB + C2))
  );
}
