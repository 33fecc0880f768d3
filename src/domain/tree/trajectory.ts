import { groupBy } from '../group-by.ts';
import { sumAmounts } from '../reward/amount.ts';
import type { TreeStep } from './grow-tree.ts';

/** A walk of a policy. `leafStepId` is null while it is under way. */
export interface TreeRollout {
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly leafStepId: string | null;
}

/** A scalar on a step, or with `stepId` null on a whole rollout. */
export interface TreeReward {
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  readonly value: number;
}

/** A root-to-leaf path: the root first, then the steps of the rollout, shared ones included. */
export interface Trajectory<S extends TreeStep, R extends TreeRollout> {
  readonly rollout: R;
  readonly path: readonly S[];
}

/** The rewards of a tree by what they stand on. */
export interface RewardIndex<W extends TreeReward = TreeReward> {
  readonly ofStep: ReadonlyMap<string, readonly W[]>;
  readonly ofRollout: ReadonlyMap<string, readonly W[]>;
}

/** Files rewards under the step they stand on, and those without a step under their rollout. */
export function indexRewards<W extends TreeReward>(rewards: readonly W[]): RewardIndex<W> {
  const isOfStep = ({ stepId }: W) => stepId !== null;
  return {
    ofStep: groupBy(rewards.filter(isOfStep), ({ stepId }) => stepId ?? ''),
    ofRollout: groupBy(
      rewards.filter((reward) => !isOfStep(reward) && reward.rolloutId !== null),
      ({ rolloutId }) => rolloutId ?? '',
    ),
  };
}

/** Returns every reward that counts for a trajectory: those of its steps from the root down, then those on the rollout itself. */
export function rewardsAlong<W extends TreeReward>(
  { path, rollout }: Trajectory<TreeStep, TreeRollout>,
  { ofStep, ofRollout }: RewardIndex<W>,
): readonly W[] {
  return [...path.flatMap((step) => ofStep.get(step.stepId) ?? []), ...(ofRollout.get(rollout.rolloutId) ?? [])];
}

/** Sums rewards by component, components in the order of their code units, so that equal rewards give equal text. */
export function sumByComponent(rewards: readonly TreeReward[]): Readonly<Record<string, number>> {
  const values = groupBy(
    rewards,
    ({ component }) => component,
    ({ value }) => value,
  );
  const sums = [...values].map(([component, all]) => [component, sumAmounts(all)] as const);
  return Object.fromEntries(sums.sort(([a], [b]) => (a < b ? -1 : 1)));
}
