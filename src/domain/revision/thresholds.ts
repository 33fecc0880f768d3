/**
 * When a trajectory is good, and when another is bad in comparison (specification of Agent-R, §2.2). Both on the scale of the
 * rewards.
 */
export interface Thresholds {
  /** What the good leaf must reach. */
  readonly alpha: number;
  /** By how much it must be better than the bad one. */
  readonly beta: number;
}

/** The first iteration of the paper (§9); its later ones take alpha 0.7 and 1.0. */
export const THRESHOLD_DEFAULTS: Thresholds = { alpha: 0.5, beta: 0.2 };

/**
 * Returns what is wrong with thresholds on rewards of 0..1, or null. A percentage (`50`), which accepts nothing, is the usual
 * slip; at alpha 0 a failure would be a good trajectory.
 */
export function refuseThresholds({ alpha, beta }: Thresholds): string | null {
  if (!(alpha > 0 && alpha <= 1)) return `alpha is ${alpha}; rewards are normalised, so it must be above 0 and at most 1`;
  if (!(beta >= 0 && beta <= 1)) return `beta is ${beta}; rewards are normalised, so it must be from 0 to 1`;
  return null;
}

// 0.7 − 0.5 is 0.19999999999999996: a gap of 0.2 that was reached in decimals is reached. Far below any step between rewards.
const ROUNDING = 1e-9;

/** Returns whether a leaf is good: it reaches alpha. The published `>` accepts nothing at alpha = 1 (§6 item 10). */
export function isGood(average: number, { alpha }: Thresholds): boolean {
  return average >= alpha - ROUNDING;
}

/** Returns whether a leaf is bad compared with a good one: at least beta worse, and worse at all. */
export function isWorse(average: number, good: number, { beta }: Thresholds): boolean {
  const gap = good - average;
  return gap > ROUNDING && gap >= beta - ROUNDING;
}
