import { FACTOR_RANGE } from './read-factor.ts';

/** What compression earns and costs. */
export interface FactorCoefficients {
  /** λ: what a successful episode earns for each step's ln(cf). */
  readonly lambda: number;
  /** μ: what a failed episode pays for it. */
  readonly mu: number;
}

/**
 * Returns the published compression component of one step's reward (specification of AgentOCR, §2.3): `λ·ln(cf)` in an episode
 * that succeeded, `−μ·ln(cf)` in one that failed, 0 in an iteration where the schedule is off. `factor` is the one chosen *at
 * this step*, which shrinks the next step's image, but is paid for here. The step that ends an episode earns nothing: no image
 * follows it (published: cf is set to 1). ln(cf) is paid whether or not a token was saved; `tokensSavedReward` is the sound form.
 * @throws RangeError for a factor outside 1..5.
 */
export function factorReward(
  step: { readonly factor: number; readonly success: boolean; readonly active: boolean; readonly endsEpisode: boolean },
  { lambda, mu }: FactorCoefficients,
): number {
  if (!(step.factor >= FACTOR_RANGE.least && step.factor <= FACTOR_RANGE.most))
    throw new RangeError(
      `a compression factor lies between ${FACTOR_RANGE.least} and ${FACTOR_RANGE.most}, not at ${step.factor}`,
    );
  if (!step.active || step.endsEpisode) return 0;
  // The range begins at 1, so the logarithm is never below 0; `|| 0` turns the −0 of −μ·ln(1) into 0, which JSON would lose.
  return (step.success ? lambda : -mu) * Math.log(step.factor) || 0;
}
