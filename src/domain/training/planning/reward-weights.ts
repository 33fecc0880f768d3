/** Which reward components a policy is trained on, and how much a unit of each counts. */
export type RewardWeights = Readonly<Record<string, number>>;

/**
 * Returns how much a unit of a component counts. Components that are not named count nothing: a scorer that measures a run does
 * not change what is trained on it. Without weights every component counts once: the rule of batches that were planned before
 * declarations named their components.
 */
export function weightOf(weights: RewardWeights | undefined, component: string): number {
  if (weights === undefined) return 1;
  return Object.hasOwn(weights, component) ? (weights[component] ?? 0) : 0;
}
