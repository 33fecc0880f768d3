import { clamp } from './bounds.ts';

/**
 * Estimators of KL(π ‖ ref) from one sampled token, Δ = log π − log ref (Schulman 2020, "Approximating KL divergence"). k1 Δ; abs
 * |Δ|; k2 ½Δ²; k3 e^x − x − 1 with x = −Δ, x clamped to ±20 and the value to ±10 (verl ≥ 0.4.1; `low_var_kl` and `kl`, `mse` are
 * its names for k3, k1, k2). A `+` keeps the value and takes the gradient of k2, the only one whose expectation is the gradient
 * of the KL.
 */
export type KlKind = 'k1' | 'k1+' | 'abs' | 'abs+' | 'k2' | 'k3' | 'k3+';

export const KL_KINDS: readonly KlKind[] = ['k1', 'k1+', 'abs', 'abs+', 'k2', 'k3', 'k3+'];

export interface TokenKl {
  readonly value: number;
  /** d value / d log π as it is used in an update. */
  readonly slope: number;
}

/**
 * Whether the x of k3 is kept within ±20 before it is exponentiated (`clamped`, verl ≥ 0.4.1) or not (verl ≤ 0.4.0); the value is
 * kept within ±10 in both.
 */
export type KlLogRatios = 'clamped' | 'unclamped';

/** Estimates the KL of one token and its slope. */
export function tokenKl(kind: KlKind, logProb: number, refLogProb: number, logRatios: KlLogRatios = 'clamped'): TokenKl {
  const delta = logProb - refLogProb;
  switch (kind) {
    case 'k1':
      return { value: delta, slope: 1 };
    case 'k1+':
      return { value: delta, slope: delta };
    case 'abs':
      return { value: Math.abs(delta), slope: Math.sign(delta) };
    case 'abs+':
      return { value: Math.abs(delta), slope: delta };
    case 'k2':
      return { value: 0.5 * delta ** 2, slope: delta };
    case 'k3':
      return lowVariance(delta, logRatios);
    case 'k3+':
      return { value: lowVariance(delta, logRatios).value, slope: delta };
  }
}

function lowVariance(delta: number, logRatios: KlLogRatios): TokenKl {
  const x = logRatios === 'clamped' ? clamp(-delta, 20) : -delta;
  const free = Math.exp(x) - x - 1;
  const value = clamp(free, 10);
  return { value, slope: free === value && x === -delta ? 1 - Math.exp(x) : 0 };
}
