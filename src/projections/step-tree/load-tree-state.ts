import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import type { KnownRollout, KnownStep } from './refusals.ts';
import type { KnownTree } from './rows.ts';

/**
 * What a batch refers to and the tables already hold; the fold adds what the batch itself brings, in its order. Steps, rollouts and
 * revisions by `keyInTree`; of a leaf of a revision all steps on its path are known.
 */
export interface TreeState {
  readonly trees: Map<string, KnownTree>;
  readonly steps: Map<string, KnownStep & { readonly parentId: string | null }>;
  readonly rollouts: Map<string, KnownRollout>;
  readonly ended: Set<string>;
  readonly closed: Set<string>;
  /** The states of revisions. */
  readonly revisions: Map<string, string>;
}

/** Loads what the events of a batch refer to, in look-ups by primary key. */
export async function loadTreeState(batch: readonly Delivery[], trx: Trx): Promise<TreeState> {
  const wanted = references(batch);
  const known: TreeState = {
    trees: new Map(),
    steps: new Map(),
    rollouts: new Map(),
    ended: new Set(),
    closed: new Set(),
    revisions: new Map(),
  };

  const [trees, steps, rollouts, revisions] = await sideBySide(
    () =>
      sql<KnownTree & { closed: boolean }>`
    select tree_id, run_id, task_id, environment, closed_at is not null as closed from trees where tree_id = any(${[...wanted.trees]}::uuid[])`.execute(
        trx,
      ),
    () => (wanted.steps.size === 0 ? [] : stepsOf([...wanted.steps.values()], [...wanted.revised], trx)),
    () => (wanted.rollouts.size === 0 ? [] : rolloutsOf([...wanted.rollouts.values()], trx)),
    () => (wanted.revisions.size === 0 ? [] : revisionsOf([...wanted.revisions.values()], trx)),
  );
  for (const tree of trees.rows) {
    known.trees.set(tree.treeId, tree);
    if (tree.closed) known.closed.add(tree.treeId);
  }
  for (const { treeId, stepId, ...step } of steps) known.steps.set(keyInTree(treeId, stepId), step);
  for (const { treeId, rolloutId, ended, ...from } of rollouts) {
    const key = keyInTree(treeId, rolloutId);
    known.rollouts.set(key, from);
    if (ended) known.ended.add(key);
  }
  for (const { treeId, revisionId, state } of revisions) known.revisions.set(keyInTree(treeId, revisionId), state);
  return known;
}

/** Reads steps, each by a look-up by its key, whatever the planner expects. @param revised of these trees all above them too. */
async function stepsOf(wanted: readonly OfTree[], revised: readonly string[], trx: Trx) {
  const stepOf = (id: string) => sql`lateral (
    select step_id, tree_id, parent_step_id as parent_id, depth, rollout_id from steps
    where step_id = w.${sql.raw(id)} and tree_id = w.tree_id offset 0) s`;
  const named = sql`select s.* from ${pairsOf(wanted)} w cross join ${stepOf('id')}`;
  const above = sql`select s.* from path w cross join ${stepOf('parent_id')} where w.tree_id = any(${revised}::uuid[])`;
  const steps = revised.length === 0 ? named : sql`with recursive path as (${named} union ${above}) select * from path`;
  const { rows } = await sql<KnownStep & { stepId: string; treeId: string; parentId: string | null }>`${steps}`.execute(trx);
  return rows;
}

async function revisionsOf(wanted: readonly OfTree[], trx: Trx) {
  const [revisionId, treeId] = [new Set(wanted.map(({ id }) => id)), new Set(wanted.map((of) => of.treeId))];
  return rowsWhere(trx, 'revisions', { revisionId, treeId }, ['revisionId', 'treeId', 'state']);
}

async function rolloutsOf(wanted: readonly OfTree[], trx: Trx) {
  const { rows } = await sql<KnownRollout & { rolloutId: string; treeId: string; ended: boolean }>`
    select r.* from ${pairsOf(wanted)} w cross join lateral (
      select o.rollout_id, o.tree_id, o.finished_at is not null as ended, o.from_step_id, s.depth as from_depth
      from rollouts o join steps s on s.step_id = o.from_step_id and s.tree_id = o.tree_id
      where o.rollout_id = w.id and o.tree_id = w.tree_id offset 0) r`.execute(trx);
  return rows;
}

interface References {
  readonly trees: Set<string>;
  readonly steps: Map<string, OfTree>;
  readonly rollouts: Map<string, OfTree>;
  readonly revisions: Map<string, OfTree>;
  /** Trees of which revisions are composed: they are made of paths. */
  readonly revised: Set<string>;
}

function references(batch: readonly Delivery[]): References {
  const wanted: References = {
    trees: new Set(),
    steps: new Map(),
    rollouts: new Map(),
    revisions: new Map(),
    revised: new Set(),
  };
  for (const delivery of batch) {
    const { treeId } = delivery.event.data as { treeId: string }; // every type this projection handles names its tree
    const add = (to: 'steps' | 'rollouts' | 'revisions', id: string) => wanted[to].set(keyInTree(treeId, id), { treeId, id });
    wanted.trees.add(treeId);
    if (isOf(delivery, 'TreeOpened')) add('steps', delivery.event.data.rootStepId);
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, parentStepId, rolloutId } = delivery.event.data;
      add('steps', stepId);
      add('steps', parentStepId);
      if (rolloutId !== null) add('rollouts', rolloutId);
    }
    if (isOf(delivery, 'RolloutStarted')) {
      add('rollouts', delivery.event.data.rolloutId);
      add('steps', delivery.event.data.fromStepId);
    }
    if (isOf(delivery, 'RolloutFinished')) {
      add('rollouts', delivery.event.data.rolloutId);
      add('steps', delivery.event.data.leafStepId);
    }
    if (isOf(delivery, 'RevisionComposed')) {
      const { goodLeafStepId, badLeafStepId, branchStepId, transitionStepId } = delivery.event.data;
      for (const id of [goodLeafStepId, badLeafStepId, branchStepId, transitionStepId]) add('steps', id);
      add('revisions', delivery.event.data.revisionId);
      wanted.revised.add(treeId);
    }
    if (isOf(delivery, 'RevisionVerified') || isOf(delivery, 'RevisionRejected'))
      add('revisions', delivery.event.data.revisionId);
    if (isOf(delivery, 'ToolCalled') || isOf(delivery, 'ReplayDiverged')) add('steps', delivery.event.data.stepId);
  }
  return wanted;
}
