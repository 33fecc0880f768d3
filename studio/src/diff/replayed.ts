import type { DiffReplaysQuery } from '../../../graphql/studio/generated/operations.ts';
import type { Pair } from './align.ts';
import type { Step } from './sides.ts';

type Divergence = NonNullable<DiffReplaysQuery['tree']>['divergences'][number];

/** In the place of a second rollout: what replays of the first showed. */
export const REPLAY = 'replay';

/** A step as a replay showed it. */
export interface Replayed extends Step {
  /** What came out otherwise and is no observation: `reward 1 → 0`. */
  readonly notes: readonly string[];
}

/** Lays the steps of a trajectory next to what the last replay showed of each: what no replay showed otherwise is as it was. */
export function replayedPairs(path: readonly Step[], divergences: readonly Divergence[]): readonly Pair<Replayed>[] {
  const ofStep = new Map<string, Map<string, Divergence>>();
  for (const each of divergences) {
    const fields = ofStep.get(each.stepId) ?? new Map<string, Divergence>();
    ofStep.set(each.stepId, fields.set(each.field, each)); // in the order of time
  }
  return path.map((step): Pair<Replayed> => {
    const last = ofStep.get(step.id) ?? new Map<string, Divergence>();
    const notes = [...last.values()]
      .filter(({ field }) => field !== 'observation')
      .map(({ field, recorded, replayed }) => `${field} ${recorded} → ${replayed}`);
    const observation = last.get('observation')?.replayed ?? step.observation;
    const reward = last.get('reward'); // a replay sums up what a step earned
    const rewards = reward ? [{ id: reward.id, component: 'as replayed', value: Number(reward.replayed) }] : step.rewards;
    return { a: { ...step, notes: [] }, b: { ...step, observation, rewards, notes }, equal: last.size === 0 };
  });
}
