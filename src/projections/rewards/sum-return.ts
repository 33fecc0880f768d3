import { LoadEnds } from '../projection.ts';
import type { LoadedTree } from './loaded-trees.ts';

/**
 * Sums the return of a finished rollout as the tables do: the rewards of the steps from its leaf to the root and those on the
 * rollout itself, by reward id, since the order decides the last bit. @throws LoadEnds when the path does not lead to the root,
 * or the sum is not finite.
 */
export function sumReturn(tree: LoadedTree, rolloutId: string, leafStepId: string): number {
  const on = [...(tree.rewardsOn.get(rolloutId) ?? [])];
  let step: string | null | undefined = leafStepId;
  for (let walked = 0; step !== null; walked++) {
    if (step === undefined || walked > tree.parents.size)
      throw new LoadEnds(`the path of rollout ${rolloutId} does not lead to the root`);
    on.push(...(tree.rewardsOn.get(step) ?? []));
    step = tree.parents.get(step);
  }
  const values = on.sort().map((rewardId) => tree.rewards.get(rewardId)?.value ?? 0);
  const sum = values.length === 0 ? 0 : values.reduce((before, value) => before + value);
  if (!Number.isFinite(sum)) throw new LoadEnds(`the return of rollout ${rolloutId} is out of range`);
  return sum;
}
