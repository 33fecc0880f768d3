import { at } from '../rows/rows.ts';
import { sumOf } from './sum.ts';

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
