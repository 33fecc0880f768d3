import type { SampleEstimate } from './batch-estimates.ts';

const ROUNDING = 1e-9; // sums of an update that another program made may be taken in another order

/**
 * Compares what was computed again with what the update measured of itself: mean return, mean and deviation of its advantages.
 * Null where it measured none of these. @param spread `advantageMean` and `advantageDeviation`.
 */
export function agreesWith(
  metrics: Readonly<Record<string, number>> | null,
  samples: readonly SampleEstimate[],
  spread: Readonly<Record<string, number>>,
): boolean | null {
  if (metrics === null) return null;
  const mean = samples.reduce((sum, sample) => sum + sample.return, 0) / Math.max(1, samples.length);
  const pairs = Object.entries({ return: mean, ...spread }).flatMap(([name, value]) => {
    const recorded = metrics[name];
    return recorded === undefined ? [] : [{ value, recorded }];
  });
  if (pairs.length === 0) return null;
  return pairs.every(({ value, recorded }) => Math.abs(value - recorded) <= ROUNDING * Math.max(1, Math.abs(recorded)));
}
