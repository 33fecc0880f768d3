import type { DataOf } from '../../events/catalogue.ts';
import type { Poison } from '../projection.ts';

type Refused = Omit<Poison, 'delivery'>;

/** Refuses what belongs to a tree that was never opened. */
export function missingTree(treeId: string): Refused {
  return { code: 'missing-tree', field: 'data.treeId', reason: `tree ${treeId} was never opened; append its TreeOpened first` };
}

/** Refuses the revision of a reward that was never assigned. */
export function missingReward({ treeId, rewardId }: DataOf<'RewardRevised'>): Refused {
  const reason = `tree ${treeId} has no reward ${rewardId}; append its RewardAssigned first`;
  return { code: 'missing-reward', field: 'data.rewardId', reason };
}

/** Refuses a reward that names a step and a rollout that did not take it: of which of the two it is cannot be decided. */
export function notTaken(rolloutId: string, stepId: string): Refused {
  const reason = `rollout ${rolloutId} did not take step ${stepId}; append another reward that names the rollout which took it, or null`;
  return { code: 'not-taken', field: 'data.rolloutId', reason };
}
