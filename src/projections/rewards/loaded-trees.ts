import { LoadEnds } from '../projection.ts';
import type { Known } from './fold-batch.ts';

/** What a load remembers of a tree: all that its returns are summed from. */
export interface LoadedTree {
  readonly treeId: string;
  readonly runId: string;
  /** Step → its parent; null above the root. */
  readonly parents: Map<string, string | null>;
  readonly rewards: Map<string, { value: number; revisions: number }>;
  /** Step or rollout → the rewards on it. */
  readonly rewardsOn: Map<string, string[]>;
  readonly revised: Set<string>;
  /** Finished rollout → its leaf and the return that is written, or null before it is. */
  readonly finished: Map<string, { readonly leafStepId: string; value: number | null }>;
}

/** Returns trees that are remembered as what a fold knows. @throws LoadEnds for a reward on a step that is not there yet. */
export function knownTrees(trees: Map<string, LoadedTree>): Known {
  const treeOf = (treeId: string): LoadedTree => {
    const tree = trees.get(treeId);
    if (!tree) throw new RangeError(`tree ${treeId} is not loaded`); // the fold asks for its run first
    return tree;
  };
  return {
    runOf: (treeId) => trees.get(treeId)?.runId,
    addTree: (treeId, runId) => {
      trees.set(treeId, {
        treeId,
        runId,
        parents: new Map(),
        rewards: new Map(),
        rewardsOn: new Map(),
        revised: new Set(),
        finished: new Map(),
      });
    },
    hasStep: (treeId, stepId) => treeOf(treeId).parents.has(stepId),
    addStep: (treeId, stepId, parentStepId) => addNew(treeOf(treeId).parents, stepId, parentStepId),
    reward: (treeId, rewardId) => treeOf(treeId).rewards.get(rewardId),
    addReward: ({ data: { treeId, rewardId, stepId, rolloutId, value } }) => {
      const tree = treeOf(treeId);
      if (!addNew(tree.rewards, rewardId, { value, revisions: 0 })) return false;
      if (stepId !== null && !tree.parents.has(stepId)) throw new LoadEnds(`reward ${rewardId} came before its step ${stepId}`);
      const on = stepId ?? rolloutId ?? '';
      const there = tree.rewardsOn.get(on);
      if (there) there.push(rewardId);
      else tree.rewardsOn.set(on, [rewardId]);
      return true;
    },
    addRevision: ({ id, data: { treeId, rewardId, value } }) => {
      const { revised, rewards } = treeOf(treeId);
      const reward = rewards.get(rewardId);
      if (!reward || revised.has(id)) return false;
      revised.add(id);
      reward.value = value;
      return true;
    },
    addEnd: ({ treeId, rolloutId, leafStepId }) => addNew(treeOf(treeId).finished, rolloutId, { leafStepId, value: null }),
  };
}

/** Adds an entry unless its key is there. @returns whether it was added. */
export function addNew<K, V>(map: Map<K, V>, key: K, value: V): boolean {
  if (map.has(key)) return false;
  map.set(key, value);
  return true;
}
