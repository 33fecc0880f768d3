import type { Envelope } from '../../events/envelope.ts';
import type { Problem } from '../reply.ts';

/**
 * Finds a reward that names neither a step nor a rollout: sums over all rewards would count it, and no return of a rollout would.
 * The schema allows it, because earlier records may hold such rewards.
 */
export function wrongReward({ type, data }: Envelope): Pick<Problem, 'path' | 'message' | 'remedy'> | null {
  if (type !== 'RewardAssigned' || data.stepId !== null || data.rolloutId !== null) return null;
  return {
    path: 'data.stepId',
    message: 'is null, and so is data.rolloutId: the reward would be of no trajectory',
    remedy: 'name the step or the rollout that the reward is for',
  };
}
