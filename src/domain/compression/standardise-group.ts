import { measure } from '../training/statistics/standardise.ts';

/** How the scores of one group are made comparable. */
export type Scaling =
  /** GRPO: `(s − m) / (d + ε)`; m the mean, d the deviation of the sample (n − 1). */
  | { readonly kind: 'deviation'; readonly epsilon: number }
  /** The same with a floor under the deviation: `(s − m) / (max(d, floor) + ε)`. */
  | { readonly kind: 'floored-deviation'; readonly epsilon: number; readonly floor: number }
  /** Dr. GRPO (arXiv 2503.20783): `s − m`. */
  | { readonly kind: 'none' };

/** As published (specification of AgentOCR, §3.4). */
export const PUBLISHED_SCALING: Scaling = { kind: 'deviation', epsilon: 1e-6 };

/**
 * Turns the scores of one group (all steps of all rollouts of one task) into advantages. A group of one has no mean to be better
 * than: its score counts whole, over `1 + ε` where deviations divide (m = 0, d = 1 as published); equal scores give zeros.
 *
 * Division by d alone makes the weight of a small component meaningless: where every rollout succeeds, `λ·ln(cf)` is the only
 * difference left, λ cancels, and cf = 5 among 1.1, 1.2, 1.3 gets +1.49 whatever λ is (§2.4). A floor of the size of the
 * differences that matter, such as the task's reward over ten, keeps a group that differs in little from shouting. @throws
 * RangeError for a negative ε or floor.
 */
export function standardiseGroup(scores: readonly number[], scaling: Scaling): number[] {
  if (scaling.kind !== 'none' && !(scaling.epsilon >= 0)) throw new RangeError(`epsilon is 0 or more, not ${scaling.epsilon}`);
  if (scaling.kind === 'floored-deviation' && !(scaling.floor >= 0))
    throw new RangeError(`a floor is 0 or more, not ${scaling.floor}`);
  const { mean, deviation } = scores.length === 1 ? { mean: 0, deviation: 1 } : measure(scores);
  const divisor = divisorOf(deviation, scaling);
  // Equal scores are zeros even where ε is 0: 0 / 0 is no advantage.
  return scores.map((score) => (score === mean ? 0 : (score - mean) / divisor));
}

function divisorOf(deviation: number, scaling: Scaling): number {
  switch (scaling.kind) {
    case 'deviation':
      return deviation + scaling.epsilon;
    case 'floored-deviation':
      return Math.max(deviation, scaling.floor) + scaling.epsilon;
    case 'none':
      return 1;
    default:
      return scaling satisfies never;
  }
}
