import { at, countTrained, type Masks, type Rows, rowAt } from '../rows/rows.ts';

/** verl adds this to the count of a mean and, under the root, to the variance of a whitening. */
export const MASKED_EPSILON = 1e-8;

/**
 * Sums x·m over m ≠ 0. What lies outside the mask may be NaN, as in verl ≥ 0.5 (earlier it multiplied first, and the NaN spread).
 */
export function maskedSum(rows: Rows, masks: Masks): number {
  const sum = startSum();
  for (const [row, mask] of masks.entries()) {
    const values = rowAt(rows, row);
    for (const [t, m] of mask.entries()) if (m !== 0) sum.add(at(values, t));
  }
  return sum.total();
}

/** Σ x·m / (Σ m + 1e-8) over the whole batch; 0 when nothing is masked in. Source: verl `masked_mean`. */
export function maskedMean(rows: Rows, masks: Masks): number {
  return maskedSum(rows, masks) / (countMasked(masks) + MASKED_EPSILON);
}

/** The masked mean of each row. */
export function maskedRowMeans(rows: Rows, masks: Masks): Float64Array {
  return Float64Array.from(masks, (mask, row) => maskedMean([rowAt(rows, row)], [mask]));
}

/**
 * masked_mean((x − μ)²), times n/(n − 1) when unbiased, n = Σ m. Source: verl `masked_var`.
 * @throws RangeError for a mask sum of 0 or 1: a batch of one token cannot be whitened.
 */
export function maskedVariance(rows: Rows, masks: Masks, kind: 'unbiased' | 'biased' = 'unbiased'): number {
  const mean = maskedMean(rows, masks);
  const squares = rows.map((values) => values.map((x) => (x - mean) ** 2));
  const biased = maskedMean(squares, masks);
  const n = countMasked(masks);
  if (n < 2) throw new RangeError(`mask sum is ${n === 0 ? 'zero' : 'one'}`);
  return kind === 'biased' ? biased : (biased * n) / (n - 1);
}

/**
 * (x − μ)/sqrt(var + 1e-8), with the mean put back when it is kept. **What lies outside the mask is transformed as well**, as
 * upstream: an estimator that wants zeros there multiplies by the mask. Source: verl `masked_whiten`. @throws RangeError for a
 * mask sum below 2.
 */
export function maskedWhiten(rows: Rows, masks: Masks, mean: 'removed' | 'kept' = 'removed'): Float64Array[] {
  const center = maskedMean(rows, masks);
  const scale = 1 / Math.sqrt(maskedVariance(rows, masks) + MASKED_EPSILON);
  const back = mean === 'kept' ? center : 0;
  return rows.map((values) => values.map((x) => (x - center) * scale + back));
}

/** Counts the trained tokens of a batch. */
export function countMasked(masks: Masks): number {
  return sumOf(masks.map(countTrained));
}

/**
 * Mean and unbiased standard deviation (n − 1). Values that are all equal have exactly that mean and the deviation 0: rounding
 * must not look like a signal.
 */
export function measure(values: ArrayLike<number>): { readonly mean: number; readonly deviation: number } {
  const all = Array.from(values);
  if (all.length > 0 && all.every((value) => value === all[0])) {
    return { mean: at(values, 0), deviation: all.length > 1 ? 0 : Number.NaN };
  }
  const mean = sumOf(all) / all.length;
  return { mean, deviation: Math.sqrt(sumOf(all.map((value) => (value - mean) ** 2)) / (all.length - 1)) };
}

/**
 * Whitens one number per step: (x − mean)/(unbiased deviation + 1e-8). The 1e-8 is outside the root, unlike in the whitening
 * of tokens. Source: Agent-R1 v0.1, step-level GAE. @throws RangeError for fewer than 2 values, which have no deviation.
 */
export function standardise(values: ArrayLike<number>): Float64Array {
  if (values.length < 2) throw new RangeError(`${values.length} step has no deviation: step whitening needs 2 or more`);
  const { mean, deviation } = measure(values);
  return Float64Array.from(values, (x) => (x - mean) / (deviation + 1e-8));
}

/** A running sum that carries what rounding takes away. */
interface RunningSum {
  add(value: number): void;
  total(): number;
}

/**
 * Starts a compensated sum (Neumaier 1974): its error does not grow with the number of terms, so the order of rows does not show
 * in the digits that are compared. NaN and infinities come out as in a plain sum.
 */
export function startSum(): RunningSum {
  let sum = 0;
  let lost = 0;
  return {
    add(value) {
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    },
    total: () => (Number.isFinite(sum) ? sum + lost : sum),
  };
}

/** Sums values with compensation; 0 for none. */
export function sumOf(values: Iterable<number>): number {
  const sum = startSum();
  for (const value of values) sum.add(value);
  return sum.total();
}
