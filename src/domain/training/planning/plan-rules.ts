import { SCORERS } from '../../reward/scorers.ts';

/** Which groups make a batch, and how it is cut into micro-batches. */
export interface PlanRules {
  /** Groups of one batch: exactly as many, so that no batch waits for a slow group and none is larger than the others. */
  readonly groupsPerBatch: number;
  /** Which closed groups may be trained on. */
  readonly group: GroupRule;
  /** The most versions between the oldest span of a sample and the version that is trained; 0 is strictly on-policy, null any. */
  readonly maxStaleness: number | null;
  /**
   * What a sample of an older version must have: `log-probs` of every token, for the correction of rollouts, or nothing (`any`).
   */
  readonly offPolicy: 'any' | 'log-probs';
  /** The reward component that filters look at: what the environment said, never a shaped sum. */
  readonly metric: string;
  /**
   * The components that are trained on, with their weights; the metric is one of them. Left out: batches are trained on the sum
   * of all components.
   */
  readonly rewards?: RewardWeights | undefined;
  /** Whether a group whose members lack an awaited reward waits for it (scorers that work later), or loses those without the metric. */
  readonly unscored: 'wait' | 'reject';
  /** Whether a group whose members are all trained on the same reward is refused: group-relative advantages are all zero there. */
  readonly zeroVariance: 'reject' | 'keep';
  /** Groups whose mean metric lies outside are too easy or too hard. */
  readonly band: { readonly low: number; readonly high: number } | null;
  /** Whether a rollout that a limit cut may be trained on. */
  readonly truncated: 'keep' | 'reject';
  /** Whether a rollout may be trained on whose captured calls are unclear, or could not be read whole. Left out: it is rejected. */
  readonly unclear?: 'keep' | 'reject' | undefined;
  /**
   * Whether a rollout may be trained on whose record leaves open how its tokens were drawn: the server may have cut the
   * distribution. Left out: it is rejected.
   */
  readonly unknownSampling?: 'keep' | 'reject' | undefined;
  /** The longest row that is trained on, tokens. */
  readonly maxTokens: number | null;
  /** What a row is: a whole trajectory (`verl`) or one step with its prompt (`step`). */
  readonly layout: 'verl' | 'step';
  /** Tokens of one micro-batch at most. */
  readonly tokenBudget: number;
}

/**
 * `all`: every planned member must be fit. `at-least`: so many fit members are enough. `replace-failed`: as many fit members as
 * were planned; collectors start further rollouts in place of failed ones, and what is too many is not needed.
 */
type GroupRule =
  | { readonly kind: 'all' }
  | { readonly kind: 'at-least'; readonly members: number }
  | { readonly kind: 'replace-failed' };

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

/** Scorers whose components collectors assign too, to the steps that earn one: a rollout without them lacks nothing. */
const OF_STEPS: readonly string[] = ['invalid-action', 'compression'];
const SCORED_LATER = SCORERS.map(({ name }) => name).filter((name) => !OF_STEPS.includes(name));

/**
 * Returns the components that a member must have before its group is judged: the metric, and where groups wait for rewards each
 * trained component that a scorer gives every rollout. Of other components nobody knows whether a rollout gets one.
 */
export function awaitedComponents({
  metric,
  rewards = {},
  unscored,
}: Pick<PlanRules, 'metric' | 'rewards' | 'unscored'>): readonly string[] {
  if (unscored === 'reject') return [metric];
  const trained = Object.keys(rewards).filter((name) => rewards[name] !== 0 && SCORED_LATER.includes(name));
  return [...new Set([metric, ...trained])];
}
