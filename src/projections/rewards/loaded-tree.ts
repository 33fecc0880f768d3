import { LoadEnds } from '../projection.ts';
import type { RewardRow } from './rows.ts';

/** What a load remembers of a tree: all that its returns are summed from. */
export interface LoadedTree {
  readonly treeId: string;
  readonly runId: string;
  /** Step → its parent; null above the root. */
  readonly parents: Map<string, string | null>;
  readonly rewards: Map<string, { readonly on: string; value: number; revisions: number }>;
  /** Step or rollout → the rewards on it. */
  readonly rewardsOn: Map<string, string[]>;
  readonly revised: Set<string>;
  /** Finished rollout → its leaf and the return that is written, or null before it is. */
  readonly finished: Map<string, { readonly leafStepId: string; value: number | null }>;
}

export function emptyTree(treeId: string, runId: string): LoadedTree {
  return {
    ...{ treeId, runId, parents: new Map(), rewards: new Map(), rewardsOn: new Map() },
    ...{ revised: new Set(), finished: new Map() },
  };
}

/** Notes a reward on its step, or on its rollout where it names no step. @throws LoadEnds for a step that is not there yet. */
export function noteReward(tree: LoadedTree, { reward_id, step_id, rollout_id, value }: RewardRow): void {
  if (step_id !== null && !tree.parents.has(step_id)) throw new LoadEnds(`reward ${reward_id} came before its step ${step_id}`);
  const on = step_id ?? rollout_id ?? '';
  tree.rewards.set(reward_id, { on, value, revisions: 0 });
  const there = tree.rewardsOn.get(on);
  if (there) there.push(reward_id);
  else tree.rewardsOn.set(on, [reward_id]);
}

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
