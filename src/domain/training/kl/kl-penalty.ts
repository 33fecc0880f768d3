import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { maskedRowMeans, sumOf } from '../statistics/masked.ts';

/**
 * Estimators of KL(π ‖ ref) from one sampled token, Δ = log π − log ref (Schulman 2020, "Approximating KL divergence"). k1 Δ; abs
 * |Δ|; k2 ½Δ²; k3 e^x − x − 1 with x = −Δ, x clamped to ±20 and the value to ±10 (verl ≥ 0.4.1; `low_var_kl` and `kl`, `mse` are
 * its names for k3, k1, k2). A `+` keeps the value and takes the gradient of k2, the only one whose expectation is the gradient
 * of the KL.
 */
export type KlKind = 'k1' | 'k1+' | 'abs' | 'abs+' | 'k2' | 'k3' | 'k3+';

export const KL_KINDS: readonly KlKind[] = ['k1', 'k1+', 'abs', 'abs+', 'k2', 'k3', 'k3+'];

interface TokenKl {
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

/** Keeps x within ±bound. */
export function clamp(x: number, bound: number): number {
  return Math.min(Math.max(x, -bound), bound);
}

/**
 * How the coefficient of a KL penalty moves. Adaptive: Ziegler et al. 2019, §2.2; verl's horizon is 10,000 and its target 0.1.
 */
export type KlController =
  | { readonly kind: 'fixed'; readonly beta: number }
  | { readonly kind: 'adaptive'; readonly beta: number; readonly target: number; readonly horizon: number };

/**
 * Answers the controller after a batch: β ← β·(1 + clip(KL/target − 1, ±0.2)·n/horizon). The batch itself was penalised with the
 * β from before. A batch of many times the horizon's rows would turn β negative, and reward distance: one batch at most halves it.
 * @param rows the rows of the batch (`n_steps`).
 */
export function adjustController(controller: KlController, currentKl: number, rows: number): KlController {
  switch (controller.kind) {
    case 'fixed':
      return controller;
    case 'adaptive': {
      const error = clamp(currentKl / controller.target - 1, 0.2);
      return { ...controller, beta: controller.beta * Math.max(0.5, 1 + (error * rows) / controller.horizon) };
    }
  }
}

interface PenalisedRewards {
  /** score − β·KL·m for each token. */
  readonly rewards: Rows;
  /** The mean over rows of their masked means: what the controller is adjusted with. */
  readonly currentKl: number;
}

/** Takes the KL penalty from the token scores (verl `apply_kl_penalty`). @param beta the coefficient from before this batch. */
export function penaliseRewards(
  {
    scores,
    logProbs,
    refLogProbs,
    masks,
  }: {
    readonly scores: Rows;
    readonly logProbs: Rows;
    readonly refLogProbs: Rows;
    readonly masks: Masks;
  },
  kind: KlKind,
  beta: number,
  logRatios: KlLogRatios = 'clamped',
): PenalisedRewards {
  const kl = buildRows(masks, (row, t, m) => {
    return m === 0 ? 0 : tokenKl(kind, at(rowAt(logProbs, row), t), at(rowAt(refLogProbs, row), t), logRatios).value;
  });
  const rewards = buildRows(masks, (row, t) => at(rowAt(scores, row), t) - beta * at(rowAt(kl, row), t));
  return { rewards, currentKl: masks.length === 0 ? 0 : sumOf(maskedRowMeans(kl, masks)) / masks.length };
}
