import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import type { KnownRollout, KnownStep } from '../step-tree/refusals.ts';
import type { RewardState } from './fold-batch.ts';

/** What the tables hold of what a batch refers to; the fold adds what the batch itself brings. */
interface Facts {
  /** Tree → its run. */
  readonly runs: Map<string, string>;
  /** Steps, rollouts and rewards by `keyInTree`. */
  readonly steps: Map<string, KnownStep>;
  readonly rollouts: Map<string, KnownRollout>;
  readonly rewards: Map<string, { revisions: number }>;
  /** Revisions that were applied before: their tree and event, with a blank between. */
  readonly revised: Set<string>;
}

/** Returns facts, none when left out, as what a fold knows. */
export function rewardStateOf({ runs, steps, rollouts, rewards, revised }: Facts = noFacts()): RewardState {
  const ended = new Set<string>();
  return {
    runOf: (treeId) => runs.get(treeId),
    addTree: (treeId, runId) => void runs.set(treeId, runId),
    stepOf: (treeId, stepId) => steps.get(keyInTree(treeId, stepId)),
    hasTaken: (treeId, rolloutId, stepId) => steps.get(keyInTree(treeId, stepId))?.rolloutId === rolloutId,
    rolloutOf: (treeId, rolloutId) => rollouts.get(keyInTree(treeId, rolloutId)),
    addStep({ treeId, stepId, rolloutId, depth }) {
      const key = keyInTree(treeId, stepId);
      if (steps.has(key)) return false;
      steps.set(key, { rolloutId, depth });
      return true;
    },
    addRollout({ treeId, rolloutId, fromStepId, fromDepth }) {
      const key = keyInTree(treeId, rolloutId);
      if (rollouts.has(key)) return false;
      rollouts.set(key, { fromStepId, fromDepth });
      return true;
    },
    reward: (treeId, rewardId) => rewards.get(keyInTree(treeId, rewardId)),
    addReward({ data: { rewardId, treeId } }) {
      const key = keyInTree(treeId, rewardId);
      if (rewards.has(key)) return false;
      rewards.set(key, { revisions: 0 });
      return true;
    },
    addRevision: ({ stream, id }) => addNew(revised, `${stream} ${id}`),
    addEnd: ({ treeId, rolloutId }) => addNew(ended, keyInTree(treeId, rolloutId)),
  };
}

/** Adds a key. @returns whether it is new. */
function addNew(keys: Set<string>, key: string): boolean {
  if (keys.has(key)) return false;
  keys.add(key);
  return true;
}

function noFacts(): Facts {
  return { runs: new Map(), steps: new Map(), rollouts: new Map(), rewards: new Map(), revised: new Set() };
}

/**
 * Loads what the events of a batch refer to, in at most five look-ups by primary key; a batch without revisions needs two or three.
 */
export async function loadRewardState(wanted: ReturnType<typeof references>, trx: Trx): Promise<RewardState> {
  const known = noFacts();
  const [trees, steps, rollouts] = await sideBySide(
    () => rowsWhere(trx, 'rewardTrees', { treeId: wanted.trees }, ['treeId', 'runId']),
    () => (wanted.steps.size === 0 ? [] : edgesOf([...wanted.steps.values()], trx)),
    () =>
      wanted.rollouts.size === 0
        ? []
        : rowsWhere(
            trx,
            'rewardRollouts',
            { treeId: wanted.trees, rolloutId: [...wanted.rollouts.values()].map(({ id }) => id) },
            ['treeId', 'rolloutId', 'fromStepId', 'fromDepth'],
          ),
  );
  for (const { treeId, runId } of trees) known.runs.set(treeId, runId);
  for (const { rolloutId, depth, ...of } of steps) known.steps.set(keyOf(of), { rolloutId, depth });
  for (const { treeId, rolloutId, ...from } of rollouts) known.rollouts.set(keyInTree(treeId, rolloutId), from);
  if (wanted.revisions.length === 0) return rewardStateOf(known);
  for (const { treeId, id, revisions } of await rewardsOf([...wanted.rewards.values()], trx))
    known.rewards.set(keyInTree(treeId, id), { revisions });
  const revised = await rowsWhere(trx, 'rewardRevisions', { treeId: wanted.trees, eventId: wanted.revisions }, [
    'treeId',
    'eventId',
  ]);
  for (const { treeId, eventId } of revised) known.revised.add(`${treeId} ${eventId}`);
  return rewardStateOf(known);
}

// a look-up by the key for each, whatever the planner expects
async function edgesOf(wanted: readonly OfTree[], trx: Trx) {
  const { rows } = await sql<OfTree & KnownStep>`
    select e.* from ${pairsOf(wanted)} w cross join lateral (
      select tree_id, step_id as id, rollout_id, depth from reward_edges where step_id = w.id and tree_id = w.tree_id offset 0) e`.execute(
    trx,
  );
  return rows;
}

async function rewardsOf(wanted: readonly OfTree[], trx: Trx) {
  const { rows } = await sql<OfTree & { readonly revisions: number }>`
    select r.* from ${pairsOf(wanted)} w cross join lateral (
      select tree_id, reward_id as id, revisions from rewards where reward_id = w.id and tree_id = w.tree_id offset 0) r`.execute(
    trx,
  );
  return rows;
}

/**
 * Returns what the events of a batch refer to, steps, rollouts and rewards by `keyInTree`. Steps are asked for where something hangs on them: that a step is recorded
 * again changes nothing, whatever the tables hold.
 */
export function references(batch: readonly Delivery[]) {
  const trees = new Set<string>();
  const steps = new Map<string, OfTree>();
  const rollouts = new Map<string, OfTree>();
  const rewards = new Map<string, OfTree>();
  const revisions: string[] = [];
  for (const delivery of batch) {
    const { treeId } = delivery.event.data as { treeId: string }; // every type that this projection handles names its tree
    const add = (to: Map<string, OfTree>, id: string) => to.set(keyInTree(treeId, id), { treeId, id });
    trees.add(treeId);
    if (isOf(delivery, 'StepTaken')) add(steps, delivery.event.data.parentStepId);
    if (isOf(delivery, 'RewardAssigned')) {
      const { stepId, rolloutId } = delivery.event.data;
      if (stepId !== null) add(steps, stepId);
      else if (rolloutId !== null) add(rollouts, rolloutId);
    }
    if (isOf(delivery, 'RolloutStarted')) add(steps, delivery.event.data.fromStepId);
    if (isOf(delivery, 'RolloutFinished')) {
      add(steps, delivery.event.data.leafStepId);
      add(rollouts, delivery.event.data.rolloutId);
    }
    if (!isOf(delivery, 'RewardRevised')) continue;
    add(rewards, delivery.event.data.rewardId);
    revisions.push(delivery.event.id);
  }
  return { trees, steps, rollouts, rewards, revisions };
}
