import type { Delivery, Envelope } from '../../events/envelope.ts';
import { isOf, type Poison } from '../projection.ts';
import { missingReward, missingStep, missingTree } from './refusals.ts';
import type { FinishedRollout } from './returns.ts';
import type { EdgeRow, RevisedReward } from './rows.ts';

/**
 * What is known of the record before an event: looked up in the tables, or remembered. What is there already is not added
 * again.
 */
export interface RewardState {
  runOf(treeId: string): string | undefined;
  addTree(treeId: string, runId: string): void;
  hasStep(treeId: string, stepId: string): boolean;
  /** @returns whether it is new, and so with the other additions. */
  addStep(treeId: string, stepId: string, parentStepId: string | null): boolean;
  /** The reward of a tree; the fold counts its revisions on. */
  reward(treeId: string, rewardId: string): { revisions: number } | undefined;
  addReward(event: Envelope<'RewardAssigned'>): boolean;
  addRevision(event: Envelope<'RewardRevised'>): boolean;
  addEnd(rollout: FinishedRollout): boolean;
}

/** What a batch adds. */
export interface RewardRows {
  readonly trees: { readonly treeId: string; readonly runId: string }[];
  readonly edges: EdgeRow[];
  readonly assigned: Envelope<'RewardAssigned'>[];
  readonly revised: RevisedReward[];
  readonly finished: FinishedRollout[];
  readonly poison: Poison[];
}

/**
 * Folds a batch into what it adds to what is known. It is the one fold of rewards: of the tables and of rewards as of a position. An event sees only what lies before it: a revision before its reward, a reward before its step, a
 * step before its parent and an end before its leaf are refused.
 */
export function foldBatch(batch: readonly Delivery[], state: RewardState): RewardRows {
  const folded: RewardRows = { trees: [], edges: [], assigned: [], revised: [], finished: [], poison: [] };
  for (const delivery of batch) {
    const refused = fold(delivery, state, folded);
    if (refused) folded.poison.push({ delivery, ...refused });
  }
  return folded;
}

function fold(delivery: Delivery, state: RewardState, folded: RewardRows): Omit<Poison, 'delivery'> | undefined {
  const { treeId } = delivery.event.data as { treeId: string }; // every type handled here names its tree
  const addStep = (stepId: string, parent: string | null): void => {
    if (state.addStep(treeId, stepId, parent)) folded.edges.push({ stepId, treeId, parentStepId: parent });
  };
  if (isOf(delivery, 'TreeOpened')) {
    const { runId, rootStepId } = delivery.event.data;
    if (state.runOf(treeId) === undefined) {
      state.addTree(treeId, runId); // the first word is the fact
      folded.trees.push({ treeId, runId });
    }
    addStep(rootStepId, null);
    return undefined;
  }
  const runId = state.runOf(treeId);
  if (runId === undefined) return missingTree(treeId);
  if (isOf(delivery, 'StepTaken')) {
    const { stepId, parentStepId } = delivery.event.data;
    if (!state.hasStep(treeId, parentStepId)) return missingStep('data.parentStepId', parentStepId, treeId);
    addStep(stepId, parentStepId);
  }
  if (isOf(delivery, 'RewardAssigned')) {
    const { stepId } = delivery.event.data;
    if (stepId !== null && !state.hasStep(treeId, stepId)) return missingStep('data.stepId', stepId, treeId);
    if (state.addReward(delivery.event)) folded.assigned.push(delivery.event);
  }
  if (isOf(delivery, 'RewardRevised')) {
    const reward = state.reward(treeId, delivery.event.data.rewardId);
    if (!reward) return missingReward(delivery.event.data);
    if (state.addRevision(delivery.event)) folded.revised.push({ event: delivery.event, ordinal: ++reward.revisions });
  }
  if (isOf(delivery, 'RolloutFinished')) {
    const { rolloutId, leafStepId } = delivery.event.data;
    if (!state.hasStep(treeId, leafStepId)) return missingStep('data.leafStepId', leafStepId, treeId);
    const rollout = { rolloutId, treeId, runId, leafStepId };
    if (state.addEnd(rollout)) folded.finished.push(rollout);
  }
  return undefined;
}
