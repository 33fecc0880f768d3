import type { Draft } from '../../append/appender.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { CapturePlace } from './place.ts';

export interface Scorer {
  readonly name: string;
  readonly revision: string;
}
interface Said {
  readonly value: number;
  readonly component: string;
  readonly scorer: Scorer;
}

export function rewardDraft(
  { runId, treeId, rolloutId }: CapturePlace,
  rewardId: string,
  stepId: string | null,
  { value, component, scorer }: Said,
): Draft {
  return {
    type: 'RewardAssigned',
    id: derivedId('RewardAssigned', rewardId),
    correlationId: runId,
    data: { rewardId, treeId, stepId, rolloutId, component, value, scorer: { ...scorer }, raw: null },
  };
}

/** Whether a reward that is on record says the same. */
export function sameReward(held: DataOf<'RewardAssigned'>, { value, scorer }: Said): boolean {
  return held.value === value && held.scorer.name === scorer.name && held.scorer.revision === scorer.revision;
}
