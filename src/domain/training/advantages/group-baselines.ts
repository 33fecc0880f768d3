import { at } from '../rows/rows.ts';
import { mapScores, measureGroups, positionsByKey, type Singleton } from '../statistics/groups.ts';
import { sumOf } from '../statistics/masked.ts';

/** s − μ_g: REINFORCE++-baseline before whitening. */
export function centreOnGroup(scores: ArrayLike<number>, groups: readonly string[], singleton: Singleton): Float64Array {
  return mapScores(scores, groups, measureGroups(scores, groups, singleton), (s, { mean }) => s - mean);
}

/** RLOO (Ahmadian et al. 2024): the score less the mean of the others, (s − μ_g)·n/(n − 1). */
export function leaveOneOut(scores: ArrayLike<number>, groups: readonly string[], singleton: Singleton): Float64Array {
  return mapScores(scores, groups, measureGroups(scores, groups, singleton), (s, { mean, size }) => {
    return size === 1 ? s - mean : ((s - mean) * size) / (size - 1);
  });
}

/** OPO (Hao et al. 2025): s less the length-weighted mean of its group, Σ len·s / Σ len; lengths in trained tokens. */
export function lengthWeighted(
  scores: ArrayLike<number>,
  groups: readonly string[],
  lengths: ArrayLike<number>,
  singleton: Singleton,
): Float64Array {
  const advantages = centreOnGroup(scores, groups, singleton);
  for (const rows of positionsByKey(groups).values()) {
    const total = sumOf(rows.map((row) => at(lengths, row)));
    if (rows.length === 1 || total === 0) continue; // without a trained token nothing is learned from them anyway
    const baseline = sumOf(rows.map((row) => at(lengths, row) * at(scores, row))) / total;
    for (const row of rows) advantages[row] = at(scores, row) - baseline;
  }
  return advantages;
}

/** GPG (Chu et al. 2025): α(s − μ_g)/f, α = rows / rows with s ≠ 0: what rows without a signal take away is given back. */
export function groupPolicyGradient(
  scores: ArrayLike<number>,
  groups: readonly string[],
  { fNorm, singleton }: { readonly fNorm: number; readonly singleton: Singleton },
): Float64Array {
  const signals = Array.from(scores).filter((s) => s !== 0).length;
  const alpha = scores.length / Math.max(signals, 1); // without any signal every advantage is 0, whatever alpha is
  return centreOnGroup(scores, groups, singleton).map((centred) => (alpha * centred) / fNorm);
}
