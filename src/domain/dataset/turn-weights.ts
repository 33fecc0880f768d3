/** What decides whether a turn of a trajectory is trained on. */
export interface Turn {
  readonly rolloutId: string | null;
  readonly policySpans: readonly { readonly policyId: string }[];
}

/**
 * - `policy`: every turn that the rollout's own policy wrote, shared prefix included. Each line is then complete as a
 *   demonstration; a
 *   step shared by n exported trajectories is trained on n times.
 * - `own`: of those, only the steps that this rollout took itself. A shared step weighs once at most, in the line of the rollout
 *   that took
 *   it, and not at all when that rollout is not exported.
 */
export type WeightRule = 'policy' | 'own';

/**
 * Decides the weight (loss flag) of each turn. A turn that another policy wrote (a guide, the bad prefix of a revision, a turn
 * imported with `loss: false`) is context and weighs 0 under both rules: cloning it would teach what the policy did not do.
 */
export function turnWeights(
  turns: readonly Turn[],
  rollout: { readonly rolloutId: string; readonly policyId: string },
  rule: WeightRule,
): readonly (0 | 1)[] {
  return turns.map((turn) => {
    if (rule === 'own' && turn.rolloutId !== rollout.rolloutId) return 0;
    return turn.policySpans.some((span) => span.policyId === rollout.policyId) ? 1 : 0;
  });
}

const CONTEXT = ':context';

/** Names the policy of turns that belong to a policy's trajectory but are not to be trained on. */
export function contextOf(policyId: string): string {
  return `${policyId}${CONTEXT}`;
}
