import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { isOf } from '../projection.ts';
import type { KnownTree } from './rows.ts';

/** What a batch refers to and the tables already hold; the fold adds what the batch itself brings, in its order. */
export interface Known {
  readonly trees: Map<string, KnownTree>;
  readonly steps: Map<string, { readonly treeId: string; readonly parentId: string | null; readonly depth: number }>;
  readonly rollouts: Map<string, { readonly treeId: string; readonly policyId: string; readonly policyVersion: number }>;
  readonly ended: Set<string>;
  readonly closed: Set<string>;
}

/** Loads what the events of a batch refer to, in three look-ups by primary key. */
export async function loadKnown(batch: readonly Delivery[], trx: Trx): Promise<Known> {
  const wanted = references(batch);
  const known: Known = { trees: new Map(), steps: new Map(), rollouts: new Map(), ended: new Set(), closed: new Set() };

  const [trees, steps, rollouts] = await sideBySide(
    () =>
      sql<KnownTree & { closed: boolean }>`
    select tree_id, run_id, task_id, environment, closed_at is not null as closed from trees where tree_id = any(${[...wanted.trees]}::uuid[])`.execute(
        trx,
      ),
    () =>
      wanted.steps.size === 0
        ? []
        : rowsWhere(trx, 'steps', { stepId: wanted.steps }, ['stepId', 'treeId', 'parentStepId', 'depth']),
    () => (wanted.rollouts.size === 0 ? [] : rolloutsOf([...wanted.rollouts], trx)),
  );
  for (const tree of trees.rows) {
    known.trees.set(tree.treeId, tree);
    if (tree.closed) known.closed.add(tree.treeId);
  }
  for (const step of steps) known.steps.set(step.stepId, { treeId: step.treeId, parentId: step.parentStepId, depth: step.depth });
  for (const rollout of rollouts) {
    const { rolloutId, ended, ...started } = rollout;
    known.rollouts.set(rolloutId, started);
    if (ended) known.ended.add(rolloutId);
  }
  return known;
}

async function rolloutsOf(ids: readonly string[], trx: Trx) {
  const { rows } = await sql<{ rolloutId: string; treeId: string; policyId: string; policyVersion: number; ended: boolean }>`
    select rollout_id, tree_id, policy_id, policy_version, finished_at is not null as ended
    from rollouts where rollout_id = any(${ids}::uuid[])`.execute(trx);
  return rows;
}

function references(batch: readonly Delivery[]): { trees: Set<string>; steps: Set<string>; rollouts: Set<string> } {
  const trees = new Set<string>();
  const steps = new Set<string>();
  const rollouts = new Set<string>();
  for (const delivery of batch) {
    trees.add((delivery.event.data as { treeId: string }).treeId); // every type this projection handles names its tree
    if (isOf(delivery, 'TreeOpened')) steps.add(delivery.event.data.rootStepId);
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, parentStepId, rolloutId } = delivery.event.data;
      steps.add(stepId).add(parentStepId);
      if (rolloutId !== null) rollouts.add(rolloutId);
    }
    if (isOf(delivery, 'RolloutStarted')) {
      rollouts.add(delivery.event.data.rolloutId);
      steps.add(delivery.event.data.fromStepId);
    }
    if (isOf(delivery, 'RolloutFinished')) {
      rollouts.add(delivery.event.data.rolloutId);
      steps.add(delivery.event.data.leafStepId);
    }
    if (isOf(delivery, 'ToolCalled') || isOf(delivery, 'ReplayDiverged')) steps.add(delivery.event.data.stepId);
  }
  return { trees, steps, rollouts };
}
