import type { Delivery } from '../../events/envelope.ts';
import { keyInTree } from '../of-tree.ts';
import { isOf, type Poison } from '../projection.ts';
import { RunCounts } from './count-runs.ts';
import { foldRevision, type RevisionRows } from './fold-revisions.ts';
import type { TreeState } from './load-tree-state.ts';
import { missingRollout, missingStep, type Refusal, wrongDepth, wrongEnd } from './refusals.ts';
import * as row from './rows.ts';

/** Folds a batch into rows and into what is known; returns what breaks an invariant, with the reason. */
export function foldBatch(
  batch: readonly Delivery[],
  state: TreeState,
): { readonly rows: TreeRows; readonly poison: readonly Poison[] } {
  const rows = emptyRows();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    const refused = fold(delivery, state, rows);
    if (refused) poison.push({ delivery, ...refused });
  }
  return { rows, poison };
}

/** The rows that a batch becomes, by what is done with them. */
export interface TreeRows extends RevisionRows {
  readonly trees: ReturnType<typeof row.treeRow>[];
  readonly steps: row.StepRow[];
  readonly rollouts: ReturnType<typeof row.rolloutRow>[];
  readonly ends: ReturnType<typeof row.endRow>[];
  readonly closed: ReturnType<typeof row.closeRow>[];
  readonly toolCalls: ReturnType<typeof row.toolCallRow>[];
  readonly divergences: ReturnType<typeof row.divergenceRow>[];
  readonly counts: RunCounts;
}
function emptyRows(): TreeRows {
  return {
    trees: [],
    steps: [],
    rollouts: [],
    ends: [],
    closed: [],
    toolCalls: [],
    divergences: [],
    judgements: [],
    revisions: [],
    outcomes: [],
    counts: new RunCounts(),
  };
}

/**
 * Folds one event into the rows to write and into what is known for the events after it; returns the reason when it is refused.
 */
function fold(delivery: Delivery, state: TreeState, rows: TreeRows): Refusal | undefined {
  if (isOf(delivery, 'TreeOpened')) {
    const { event } = delivery;
    if (state.trees.has(event.data.treeId)) return undefined;
    const opened = row.treeRow(event);
    state.trees.set(event.data.treeId, {
      treeId: event.data.treeId,
      runId: event.data.runId,
      taskId: event.data.task.taskId,
      environment: event.data.task.environment,
    });
    rows.trees.push(opened);
    state.steps.set(keyInTree(event.data.treeId, event.data.rootStepId), { parentId: null, depth: 0, rolloutId: null });
    rows.steps.push(row.rootRow(delivery));
    rows.counts.add(delivery, event.data.runId, { trees: 1 });
    return undefined;
  }
  const { treeId } = delivery.event.data as { treeId: string }; // every other type handled here names its tree
  const tree = state.trees.get(treeId);
  if (!tree)
    return { code: 'missing-tree', field: 'data.treeId', reason: `tree ${treeId} was never opened; append its TreeOpened first` };
  const stepOf = (id: string) => state.steps.get(keyInTree(treeId, id));

  if (isOf(delivery, 'StepTaken')) {
    const { data } = delivery.event;
    const same = stepOf(data.stepId);
    if (same) {
      if (same.parentId === data.parentStepId) return undefined;
      return {
        code: 'conflict',
        field: 'data.stepId',
        reason: `step ${data.stepId} is elsewhere in tree ${treeId}; give a new step a new id`,
      };
    }
    const parent = stepOf(data.parentStepId);
    if (!parent) return missingStep('data.parentStepId', data.parentStepId, treeId);
    const elsewhere = wrongDepth(data.depth, parent);
    if (elsewhere) return elsewhere;
    if (data.rolloutId !== null && !state.rollouts.has(keyInTree(treeId, data.rolloutId)))
      return missingRollout(data.rolloutId, treeId);
    state.steps.set(keyInTree(treeId, data.stepId), {
      parentId: data.parentStepId,
      depth: data.depth,
      rolloutId: data.rolloutId,
    });
    rows.steps.push(row.stepRow(delivery));
    const { promptTokens = 0, completionTokens = 0 } = data.usage ?? {};
    rows.counts.add(delivery, tree.runId, { steps: 1, promptTokens, completionTokens });
  }
  if (isOf(delivery, 'RolloutStarted')) {
    const { data } = delivery.event;
    const key = keyInTree(treeId, data.rolloutId);
    const from = stepOf(data.fromStepId);
    if (!from) return missingStep('data.fromStepId', data.fromStepId, treeId);
    if (state.rollouts.has(key)) return undefined;
    state.rollouts.set(key, { fromStepId: data.fromStepId, fromDepth: from.depth });
    rows.rollouts.push(row.rolloutRow(delivery.event, tree));
    rows.counts.add(delivery, tree.runId, { rollouts: 1 });
  }
  if (isOf(delivery, 'RolloutFinished')) {
    const { data } = delivery.event;
    const key = keyInTree(treeId, data.rolloutId);
    const rollout = state.rollouts.get(key);
    if (!rollout) return missingRollout(data.rolloutId, treeId);
    const leaf = stepOf(data.leafStepId);
    if (!leaf) return missingStep('data.leafStepId', data.leafStepId, treeId);
    if (state.ended.has(key)) return undefined;
    const wrong = wrongEnd(data, rollout, leaf);
    if (wrong) return wrong;
    state.ended.add(key);
    rows.ends.push(row.endRow(delivery.event));
    rows.counts.add(delivery, tree.runId, {
      [data.outcome]: 1,
      judged: data.success === null ? 0 : 1,
      successes: data.success === true ? 1 : 0,
      unclearCalls: data.unclearCalls ?? 0,
      lostParts: data.lostParts ?? 0,
    });
  }
  if (isOf(delivery, 'ToolCalled') || isOf(delivery, 'ReplayDiverged')) {
    const { stepId } = delivery.event.data;
    if (!stepOf(stepId)) return missingStep('data.stepId', stepId, treeId);
  }
  if (isOf(delivery, 'ToolCalled')) rows.toolCalls.push(row.toolCallRow(delivery.event));
  if (isOf(delivery, 'ReplayDiverged')) rows.divergences.push(row.divergenceRow(delivery.event));
  if (isOf(delivery, 'TreeClosed') && !state.closed.has(treeId)) {
    state.closed.add(treeId);
    rows.closed.push(row.closeRow(delivery.event));
    rows.counts.add(delivery, tree.runId, { closedTrees: 1 });
  }
  return foldRevision(delivery, state, rows);
}
