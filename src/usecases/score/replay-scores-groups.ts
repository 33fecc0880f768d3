import { sumAmounts } from '../../domain/reward/amount.ts';
import type { Db } from '../../postgres/database.ts';
import { type GroupWalks, readGroupWalks, type Walk, type WalkStep } from '../../projections/step-tree/read-paths.ts';

/** A reward in two states of the record; null where it is not there. On a step, or with `stepId` null on a whole rollout. */
export interface RewardPair {
  readonly rewardId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** A finished rollout of a group with its rewards in two states. */
export interface Member {
  readonly rolloutId: string;
  readonly leafStepId: string;
  /** Summed from the root to its leaf, as returns are. */
  readonly before: number;
  readonly after: number;
  /** The steps that it took itself, as a trainer has them: rewards of the rollout stand on the last. */
  readonly rows: readonly { readonly before: number; readonly after: number; readonly stateHash: string | null }[];
}

export interface ScoredGroup {
  readonly treeId: string;
  readonly alias: string;
  readonly members: readonly Member[];
}

/**
 * Sums rewards in two states along the paths of a tree's finished rollouts, exactly, as the read models do.
 */
export async function sumGroup(
  db: Db,
  { treeId, alias }: { readonly treeId: string; readonly alias: string },
  rewards: readonly RewardPair[],
): Promise<ScoredGroup> {
  const { steps, rollouts } = await readGroupWalks(db, treeId);
  const placed = placeRewards(rewards);
  return { treeId, alias, members: rollouts.map((rollout) => memberOf(rollout, steps, placed)) };
}

function memberOf(
  { rolloutId, fromStepId, leafStepId }: Walk,
  steps: GroupWalks['steps'],
  placed: ReadonlyMap<string, readonly RewardPair[]>,
): Member {
  const path: WalkStep[] = [];
  for (let id: string | null = leafStepId; id !== null; ) {
    const step = steps.get(id);
    if (!step) throw new RangeError(`rollout ${rolloutId}: step ${id} is not in the read models`);
    path.push(step);
    id = step.parentStepId;
  }
  path.reverse();
  const ofRollout = placed.get(rolloutId) ?? [];
  const all = [...path.flatMap(({ stepId }) => placed.get(stepId) ?? []), ...ofRollout];
  const from = path.findIndex(({ stepId }) => stepId === fromStepId);
  const own = path.slice(from + 1);
  return {
    rolloutId,
    leafStepId,
    before: sumOf(all, 'before'),
    after: sumOf(all, 'after'),
    rows: own.map(({ stepId }, i) => {
      const mine = [...(placed.get(stepId) ?? []), ...(i === own.length - 1 ? ofRollout : [])];
      const stateHash = path[from + i]?.stateHash ?? null; // of the state before the action
      return { before: sumOf(mine, 'before'), after: sumOf(mine, 'after'), stateHash };
    }),
  };
}

/** Step, or else rollout → its rewards. */
function placeRewards(rewards: readonly RewardPair[]): ReadonlyMap<string, readonly RewardPair[]> {
  const placed = new Map<string, RewardPair[]>();
  for (const reward of rewards) {
    const place = reward.stepId ?? reward.rolloutId;
    if (place === null) continue; // on nothing: no return counts it
    const list = placed.get(place) ?? [];
    placed.set(place, list);
    list.push(reward);
  }
  return placed;
}

function sumOf(rewards: readonly RewardPair[], state: 'before' | 'after'): number {
  return sumAmounts(rewards.map((reward) => reward[state] ?? 0));
}
