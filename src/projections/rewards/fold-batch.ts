import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { isOf, type Poison } from '../projection.ts';
import { missingReward, missingRollout, missingStep, missingTree, notTaken } from './refusals.ts';
import type { FinishedRollout } from './returns.ts';
import type { EdgeRow, RevisedReward, RolloutRow } from './rows.ts';

/**
 * What is known of the record before an event: looked up in the tables, or remembered. What is there already is not added
 * again.
 */
export interface RewardState {
  runOf(treeId: string): string | undefined;
  addTree(treeId: string, runId: string): void;
  hasStep(treeId: string, stepId: string): boolean;
  /** Whether a step was taken by a rollout; the root and steps of a search that no walk ended in were taken by none. */
  hasTaken(treeId: string, rolloutId: string, stepId: string): boolean;
  hasRollout(treeId: string, rolloutId: string): boolean;
  /** @returns whether it is new, and so with the other additions. */
  addStep(step: EdgeRow): boolean;
  addRollout(rollout: RolloutRow): boolean;
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
  readonly rollouts: RolloutRow[];
  readonly assigned: Envelope<'RewardAssigned'>[];
  readonly revised: RevisedReward[];
  readonly finished: FinishedRollout[];
  readonly poison: Poison[];
}

/**
 * Folds a batch into what it adds to what is known. It is the one fold of rewards: of the tables and of rewards as of a position. An event sees only what
 * lies before it: a revision before its reward, a reward before its step or rollout, a step before its parent and an end before its
 * leaf are refused, and a reward of a step for a rollout that did not take it: it would be of two.
 */
export function foldBatch(batch: readonly Delivery[], state: RewardState): RewardRows {
  const folded: RewardRows = { trees: [], edges: [], rollouts: [], assigned: [], revised: [], finished: [], poison: [] };
  for (const delivery of batch) {
    const refused = fold(delivery, state, folded);
    if (refused) folded.poison.push({ delivery, ...refused });
  }
  return folded;
}

function fold(delivery: Delivery, state: RewardState, folded: RewardRows): Omit<Poison, 'delivery'> | undefined {
  const { treeId } = delivery.event.data as { treeId: string }; // every type handled here names its tree
  const addStep = (step: EdgeRow): void => {
    if (state.addStep(step)) folded.edges.push(step);
  };
  if (isOf(delivery, 'TreeOpened')) {
    const { runId, rootStepId } = delivery.event.data;
    if (state.runOf(treeId) === undefined) {
      state.addTree(treeId, runId); // the first word is the fact
      folded.trees.push({ treeId, runId });
    }
    addStep({ stepId: rootStepId, treeId, parentStepId: null, rolloutId: null });
    return undefined;
  }
  const runId = state.runOf(treeId);
  if (runId === undefined) return missingTree(treeId);
  if (isOf(delivery, 'StepTaken')) {
    const { stepId, parentStepId, rolloutId } = delivery.event.data;
    if (!state.hasStep(treeId, parentStepId)) return missingStep('data.parentStepId', parentStepId, treeId);
    addStep({ stepId, treeId, parentStepId, rolloutId });
  }
  if (isOf(delivery, 'RolloutStarted')) {
    const rollout = { rolloutId: delivery.event.data.rolloutId, treeId };
    if (state.addRollout(rollout)) folded.rollouts.push(rollout);
  }
  if (isOf(delivery, 'RewardAssigned')) {
    const refused = refusedReward(delivery.event.data, state);
    if (refused) return refused;
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

function refusedReward({ treeId, stepId, rolloutId }: DataOf<'RewardAssigned'>, state: RewardState) {
  if (stepId !== null && !state.hasStep(treeId, stepId)) return missingStep('data.stepId', stepId, treeId);
  if (rolloutId === null) return undefined;
  if (stepId !== null) return state.hasTaken(treeId, rolloutId, stepId) ? undefined : notTaken(rolloutId, stepId);
  return state.hasRollout(treeId, rolloutId) ? undefined : missingRollout(rolloutId, treeId);
}
