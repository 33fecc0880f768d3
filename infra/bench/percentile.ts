/**
 * Returns the value below or at which `share` (0–1) of the samples lie (nearest rank). @throws RangeError when there is no
 * sample.
 */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('a percentile needs samples');
  return value;
}

/** Returns the middle sample. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
