import { choiceOption, numberOption } from '../method-options.ts';
import { at, rowAt } from '../rows/rows.ts';
import {
  clamp,
  definePolicyLoss,
  LOG_RATIO_BOUND,
  logRatio,
  meanNegativeLogRatio,
  type PolicyLossInput,
  shareOfTokens,
  type TokenLoss,
} from './policy-loss.ts';

/** ε of both sides; DAPO's clip-higher widens the upper one. */
export interface ClipBounds {
  readonly clipLow: number;
  readonly clipHigh: number;
}

const OPTIONS = {
  clipLow: numberOption(0.2, 0, 1),
  clipHigh: numberOption(0.2, 0, 1_000),
  logRatios: choiceOption('clamped', 'unclamped'),
} as const;

/** PPO (Schulman et al. 2017): L = max(−Aρ, −A·clip(ρ, 1 − lo, 1 + hi)), ρ = exp(new − old). */
export const clippedPolicyLoss = definePolicyLoss({
  name: 'clipped',
  revision: '1',
  options: OPTIONS,
  tokenLoss: (input, options) => (row, t) => {
    const { ratio, slope, advantage } = tokenAt(input, row, t, boundOf(options.logRatios));
    return clippedTokenLoss(ratio, slope, advantage, options);
  },
  metrics: (input, _losses, options) => clipMetrics(input, options, boundOf(options.logRatios)),
});

/**
 * The same with the dual clip (Ye et al. 2020; verl's vanilla loss): for A < 0 at most −A·c, so that a ratio that ran away cannot
 * dominate the batch.
 */
export const dualClippedPolicyLoss = definePolicyLoss({
  name: 'dual_clip',
  revision: '1',
  options: { ...OPTIONS, dualClip: numberOption(3, 1 + 1e-9, 1e9) },
  tokenLoss: (input, options) => (row, t) => {
    const { ratio, slope, advantage } = tokenAt(input, row, t, boundOf(options.logRatios));
    const clipped = clippedTokenLoss(ratio, slope, advantage, options);
    const ceiling = -advantage * options.dualClip;
    return advantage < 0 && clipped.loss > ceiling ? { loss: ceiling, slope: 0 } : clipped;
  },
  metrics(input, _losses, options) {
    const bound = boundOf(options.logRatios);
    const clipFractionLower = shareOfTokens(input.masks, (row, t) => {
      const { ratio, slope, advantage } = tokenAt(input, row, t, bound);
      return advantage < 0 && clippedTokenLoss(ratio, slope, advantage, options).loss > -advantage * options.dualClip;
    });
    return { ...clipMetrics(input, options, bound), clipFractionLower };
  },
});

/**
 * One token of the clipped objective. @param slope dρ/dlogProb. Where the clipped side is the larger one, ρ has left the interval
 * and the slope is 0.
 */
export function clippedTokenLoss(ratio: number, slope: number, advantage: number, { clipLow, clipHigh }: ClipBounds): TokenLoss {
  const free = -advantage * ratio;
  const held = -advantage * clamp(ratio, 1 - clipLow, 1 + clipHigh);
  return held > free ? { loss: held, slope: 0 } : { loss: free, slope: -advantage * slope };
}

function tokenAt(input: PolicyLossInput, row: number, t: number, bound: number) {
  const { d, slope } = logRatio(input, row, t, bound);
  const ratio = Math.exp(d);
  return { ratio, slope: ratio * slope, advantage: at(rowAt(input.advantages, row), t) };
}

function clipMetrics(input: PolicyLossInput, bounds: ClipBounds, bound: number): Record<string, number> {
  const clipFraction = shareOfTokens(input.masks, (row, t) => {
    const { ratio, advantage } = tokenAt(input, row, t, bound);
    return -advantage * clamp(ratio, 1 - bounds.clipLow, 1 + bounds.clipHigh) > -advantage * ratio;
  });
  return { clipFraction, oldKl: meanNegativeLogRatio(input, bound) };
}

function boundOf(logRatios: 'clamped' | 'unclamped'): number {
  return logRatios === 'clamped' ? LOG_RATIO_BOUND : Number.POSITIVE_INFINITY;
}
