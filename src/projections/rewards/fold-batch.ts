import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { isOf, type Poison } from '../projection.ts';
import { type KnownRollout, type KnownStep, missingRollout, missingStep, wrongDepth, wrongEnd } from '../step-tree/refusals.ts';
import { missingReward, missingTree, notTaken } from './refusals.ts';
import type { FinishedRollout } from './returns.ts';
import type { EdgeRow, RevisedReward, RolloutRow } from './rows.ts';

/**
 * What is known of the record before an event: looked up in the tables, or remembered. What is there already is not added
 * again.
 */
export interface RewardState {
  runOf(treeId: string): string | undefined;
  addTree(treeId: string, runId: string): void;
  stepOf(treeId: string, stepId: string): KnownStep | undefined;
  /** Whether a step was taken by a rollout; the root and steps of a search that no walk ended in were taken by none. */
  hasTaken(treeId: string, rolloutId: string, stepId: string): boolean;
  rolloutOf(treeId: string, rolloutId: string): KnownRollout | undefined;
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
 * leaf are refused, a reward of a step for a rollout that did not take it, which would be of two, and an end that `step-tree` refuses:
 * readers join both.
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
    addStep({ stepId: rootStepId, treeId, parentStepId: null, rolloutId: null, depth: 0 });
    return undefined;
  }
  const runId = state.runOf(treeId);
  if (runId === undefined) return missingTree(treeId);
  if (isOf(delivery, 'StepTaken')) {
    const { stepId, parentStepId, rolloutId, depth } = delivery.event.data;
    const parent = state.stepOf(treeId, parentStepId);
    if (!parent) return missingStep('data.parentStepId', parentStepId, treeId);
    const elsewhere = wrongDepth(depth, parent);
    if (elsewhere) return elsewhere;
    addStep({ stepId, treeId, parentStepId, rolloutId, depth });
  }
  if (isOf(delivery, 'RolloutStarted')) {
    const { rolloutId, fromStepId } = delivery.event.data;
    const from = state.stepOf(treeId, fromStepId);
    if (!from) return missingStep('data.fromStepId', fromStepId, treeId);
    const rollout = { rolloutId, treeId, fromStepId, fromDepth: from.depth };
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
    const rollout = state.rolloutOf(treeId, rolloutId);
    if (!rollout) return missingRollout(rolloutId, treeId);
    const leaf = state.stepOf(treeId, leafStepId);
    if (!leaf) return missingStep('data.leafStepId', leafStepId, treeId);
    const wrong = wrongEnd(delivery.event.data, rollout, leaf);
    if (wrong) return wrong;
    const end = { rolloutId, treeId, runId, leafStepId };
    if (state.addEnd(end)) folded.finished.push(end);
  }
  return undefined;
}

function refusedReward({ treeId, stepId, rolloutId }: DataOf<'RewardAssigned'>, state: RewardState) {
  if (stepId !== null && !state.stepOf(treeId, stepId)) return missingStep('data.stepId', stepId, treeId);
  if (rolloutId === null) return undefined;
  if (stepId !== null) return state.hasTaken(treeId, rolloutId, stepId) ? undefined : notTaken(rolloutId, stepId);
  return state.rolloutOf(treeId, rolloutId) ? undefined : missingRollout(rolloutId, treeId);
}
