import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { type Known, loadKnown } from './known.ts';
import * as row from './rows.ts';

const HANDLES: readonly EventType[] = [
  'TreeOpened',
  'RolloutStarted',
  'StepTaken',
  'ToolCalled',
  'ReplayDiverged',
  'RolloutFinished',
  'TreeClosed',
];

/**
 * Folds trees as adjacency lists. Its invariants: a step hangs on a step of its own tree, one level below it; a rollout starts at a step
 * of its tree and ends once; nothing belongs to a tree that was never opened. What breaks one goes to quarantine, with its descendants.
 */
export const stepTree: Projection = { name: 'step-tree', version: 1, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await loadKnown(batch, trx);
  const rows = emptyRows();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    const refused = fold(delivery, known, rows);
    if (refused) poison.push({ delivery, ...refused });
  }
  await write(rows, trx);
  return poison;
}

interface Rows {
  readonly trees: ReturnType<typeof row.treeRow>[];
  readonly steps: row.StepRow[];
  readonly rollouts: ReturnType<typeof row.rolloutRow>[];
  readonly ends: ReturnType<typeof row.endRow>[];
  readonly closed: ReturnType<typeof row.closeRow>[];
  readonly toolCalls: object[];
  readonly divergences: object[];
}
function emptyRows(): Rows {
  return { trees: [], steps: [], rollouts: [], ends: [], closed: [], toolCalls: [], divergences: [] };
}

type Refused = Omit<Poison, 'delivery'>;

/** Folds one event into the rows to write and into what is known for the events after it; gives the reason when it is refused. */
function fold(delivery: Delivery, known: Known, rows: Rows): Refused | undefined {
  if (isOf(delivery, 'TreeOpened')) {
    const { event } = delivery;
    if (known.trees.has(event.data.treeId)) return undefined;
    const opened = row.treeRow(event);
    known.trees.set(event.data.treeId, {
      tree_id: event.data.treeId,
      run_id: event.data.runId,
      task_id: event.data.task.taskId,
      environment: event.data.task.environment,
    });
    known.steps.set(event.data.rootStepId, { treeId: event.data.treeId, parentId: null, depth: 0 });
    rows.trees.push(opened);
    rows.steps.push(row.rootRow(delivery));
    return undefined;
  }
  const { treeId } = delivery.event.data as { treeId: string }; // every other type handled here names its tree
  const tree = known.trees.get(treeId);
  if (!tree)
    return { code: 'missing-tree', field: 'data.treeId', reason: `tree ${treeId} was never opened; append its TreeOpened first` };

  if (isOf(delivery, 'StepTaken')) {
    const { data } = delivery.event;
    const same = known.steps.get(data.stepId);
    if (same) {
      if (same.treeId === treeId && same.parentId === data.parentStepId) return undefined;
      return {
        code: 'conflict',
        field: 'data.stepId',
        reason: `step ${data.stepId} stands elsewhere in the record; give a new step a new id`,
      };
    }
    const parent = known.steps.get(data.parentStepId);
    if (parent?.treeId !== treeId) return missingStep('data.parentStepId', data.parentStepId, treeId);
    if (data.depth !== parent.depth + 1)
      return { code: 'depth', field: 'data.depth', reason: `must be ${parent.depth + 1}, one more than its parent's` };
    if (data.rolloutId !== null && known.rollouts.get(data.rolloutId) !== treeId) return missingRollout(data.rolloutId, treeId);
    known.steps.set(data.stepId, { treeId, parentId: data.parentStepId, depth: data.depth });
    rows.steps.push(row.stepRow(delivery));
  }
  if (isOf(delivery, 'RolloutStarted')) {
    const { data } = delivery.event;
    if (known.steps.get(data.fromStepId)?.treeId !== treeId) return missingStep('data.fromStepId', data.fromStepId, treeId);
    if (known.rollouts.has(data.rolloutId)) return undefined;
    known.rollouts.set(data.rolloutId, treeId);
    rows.rollouts.push(row.rolloutRow(delivery.event, tree));
  }
  if (isOf(delivery, 'RolloutFinished')) {
    const { data } = delivery.event;
    if (known.rollouts.get(data.rolloutId) !== treeId) return missingRollout(data.rolloutId, treeId);
    if (known.steps.get(data.leafStepId)?.treeId !== treeId) return missingStep('data.leafStepId', data.leafStepId, treeId);
    if (known.ended.has(data.rolloutId)) return undefined;
    known.ended.add(data.rolloutId);
    rows.ends.push(row.endRow(delivery.event));
  }
  if (isOf(delivery, 'ToolCalled') || isOf(delivery, 'ReplayDiverged')) {
    const { stepId } = delivery.event.data;
    if (known.steps.get(stepId)?.treeId !== treeId) return missingStep('data.stepId', stepId, treeId);
  }
  if (isOf(delivery, 'ToolCalled')) rows.toolCalls.push(row.toolCallRow(delivery.event));
  if (isOf(delivery, 'ReplayDiverged')) rows.divergences.push(row.divergenceRow(delivery.event));
  if (isOf(delivery, 'TreeClosed') && !known.closed.has(treeId)) {
    known.closed.add(treeId);
    rows.closed.push(row.closeRow(delivery.event));
  }
  return undefined;
}

function missingStep(field: string, stepId: string, treeId: string): Refused {
  return {
    code: 'missing-parent',
    field,
    reason: `tree ${treeId} has no step ${stepId}; append that step first, then release this event`,
  };
}

function missingRollout(rolloutId: string, treeId: string): Refused {
  return {
    code: 'missing-rollout',
    field: 'data.rolloutId',
    reason: `tree ${treeId} has no rollout ${rolloutId}; append its RolloutStarted first`,
  };
}

/** Writes the rows. What begins and ends in one batch is written once, whole: an update would write its row and its index entries again. */
async function write(rows: Rows, trx: Trx): Promise<void> {
  const trees = joinEnds(rows.trees, rows.closed, 'tree_id');
  const rollouts = joinEnds(rows.rollouts, rows.ends, 'rollout_id');
  await insertRows(trx, 'trees', trees.whole, { ...row.TREE_COLUMNS, ...row.CLOSE_COLUMNS });
  await insertRows(trx, 'steps', rows.steps, row.STEP_COLUMNS);
  await insertRows(trx, 'rollouts', rollouts.whole, { ...row.ROLLOUT_COLUMNS, ...row.END_COLUMNS });
  if (rollouts.later.length > 0) {
    await sql`
      update rollouts set finished_at = r.finished_at, outcome = r.outcome, success = r.success, leaf_step_id = r.leaf_step_id,
             steps = r.steps, reason = r.reason
      from ${recordset(rollouts.later, row.END_COLUMNS)}
      where rollouts.rollout_id = r.rollout_id and rollouts.finished_at is null`.execute(trx);
  }
  if (trees.later.length > 0) {
    await sql`
      update trees set closed_at = r.closed_at, close_reason = r.close_reason
      from ${recordset(trees.later, row.CLOSE_COLUMNS)}
      where trees.tree_id = r.tree_id and trees.closed_at is null`.execute(trx);
  }
  await insertRows(trx, 'tool_calls', rows.toolCalls, row.TOOL_CALL_COLUMNS);
  await insertRows(trx, 'divergences', rows.divergences, row.DIVERGENCE_COLUMNS);
}

/** Joins each beginning of a batch with its end, where the batch holds both; `later` are the ends of what began before. */
function joinEnds<Key extends string, Begin extends Record<Key, unknown>, End extends Record<Key, unknown>>(
  begins: readonly Begin[],
  ends: readonly End[],
  key: Key,
): { readonly whole: readonly (Begin & Partial<End>)[]; readonly later: readonly End[] } {
  const endOf = new Map<unknown, End>(ends.map((end) => [end[key], end]));
  const whole = begins.map((begin) => {
    const end = endOf.get(begin[key]);
    endOf.delete(begin[key]);
    return { ...begin, ...end };
  });
  return { whole, later: [...endOf.values()] };
}
