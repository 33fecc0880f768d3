import type { FactorCoefficients } from './factor-reward.ts';

/** The image that a step's factor made, in the model's own tokens, and what it would have cost at cf = 1. */
export interface ImageCost {
  readonly tokensWhole: number;
  readonly tokens: number;
}

/**
 * Returns a compression component that pays for what was saved: `λ·ln(tokens at cf 1 / tokens at cf)` in an episode that
 * succeeded, `−μ·…` in one that failed, 0 where no token was saved. Tokens are a staircase in cf (a 392 × 360 image costs 182 at
 * 1.00 to 1.10 and 156 at 1.15 to 1.28), so ln(cf) is earned for nothing on every tread (specification of AgentOCR, §1.9, §2.4);
 * this is not. In the limit of fine patches both are equal: tokens fall as 1/cf. A one-line image that grows when it is
 * "compressed" saves nothing and pays nothing. `image` is the one shown at the *next* step; null when none followed, as behind
 * the last step or while the history is empty. @throws RangeError for a cost that is no positive count.
 */
export function tokensSavedReward(
  step: { readonly image: ImageCost | null; readonly success: boolean; readonly active: boolean },
  { lambda, mu }: FactorCoefficients,
): number {
  if (step.image === null) return 0;
  const { tokensWhole, tokens } = step.image;
  if (!Number.isInteger(tokensWhole) || !Number.isInteger(tokens) || tokensWhole < 1 || tokens < 1)
    throw new RangeError(`an image costs 1 token or more, not ${tokensWhole} whole and ${tokens} compressed`);
  if (!step.active || tokens >= tokensWhole) return 0;
  return (step.success ? lambda : -mu) * Math.log(tokensWhole / tokens) || 0;
}
