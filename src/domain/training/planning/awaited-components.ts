import { SCORERS } from '../../reward/scorers.ts';
import type { PlanRules } from './plan-rules.ts';

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
