import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { isOf } from '../projection.ts';
import type { Known } from './fold-batch.ts';

/** What the tables hold of what a batch refers to; the fold adds what the batch itself brings. */
interface Facts {
  /** Tree → its run. */
  readonly runs: Map<string, string>;
  /** Step → its tree. */
  readonly steps: Map<string, string>;
  readonly rewards: Map<string, { readonly treeId: string; revisions: number }>;
  /** Revisions that were applied before: their tree and event, with a blank between. */
  readonly revised: Set<string>;
}

/** Returns facts, none when left out, as what a fold knows. Ids belong to the tree that named them first, as in the tables. */
export function knownFacts({ runs, steps, rewards, revised }: Facts = noFacts()): Known {
  const ended = new Set<string>();
  return {
    runOf: (treeId) => runs.get(treeId),
    addTree: (treeId, runId) => void runs.set(treeId, runId),
    hasStep: (treeId, stepId) => steps.get(stepId) === treeId,
    addStep: (treeId, stepId) => addNew(steps, stepId, treeId),
    reward: (treeId, rewardId) => {
      const reward = rewards.get(rewardId);
      return reward?.treeId === treeId ? reward : undefined;
    },
    addReward: ({ data: { rewardId, treeId } }) => addNew(rewards, rewardId, { treeId, revisions: 0 }),
    addRevision: ({ stream, id }) => !revised.has(`${stream} ${id}`) && Boolean(revised.add(`${stream} ${id}`)),
    addEnd: ({ rolloutId }) => !ended.has(rolloutId) && Boolean(ended.add(rolloutId)),
  };
}

/** Adds an entry unless its key is there. @returns whether it was added. */
function addNew<K, V>(map: Map<K, V>, key: K, value: V): boolean {
  if (map.has(key)) return false;
  map.set(key, value);
  return true;
}

function noFacts(): Facts {
  return { runs: new Map(), steps: new Map(), rewards: new Map(), revised: new Set() };
}

/** Loads what the events of a batch refer to, in at most four look-ups by primary key; a batch without revisions needs two. */
export async function loadKnown(wanted: ReturnType<typeof references>, trx: Trx): Promise<Known> {
  const known = noFacts();
  const [trees, steps] = await sideBySide(
    () => rowsWhere(trx, 'rewardTrees', { treeId: wanted.trees }, ['treeId', 'runId']),
    () => (wanted.steps.size === 0 ? [] : rowsWhere(trx, 'rewardEdges', { stepId: wanted.steps }, ['stepId', 'treeId'])),
  );
  for (const { treeId, runId } of trees) known.runs.set(treeId, runId);
  for (const { stepId, treeId } of steps) known.steps.set(stepId, treeId);
  if (wanted.revisions.length === 0) return knownFacts(known);
  const rewards = await rowsWhere(trx, 'rewards', { rewardId: wanted.rewards }, ['rewardId', 'treeId', 'revisions']);
  for (const { rewardId, treeId, revisions } of rewards) known.rewards.set(rewardId, { treeId, revisions });
  const revised = await rowsWhere(trx, 'rewardRevisions', { treeId: wanted.trees, eventId: wanted.revisions }, [
    'treeId',
    'eventId',
  ]);
  for (const { treeId, eventId } of revised) known.revised.add(`${treeId} ${eventId}`);
  return knownFacts(known);
}

/**
 * Returns the ids that the events of a batch refer to. Steps are asked for where something hangs on them: that a step is recorded
 * again changes nothing, whatever the tables hold.
 */
export function references(batch: readonly Delivery[]) {
  const trees = new Set<string>();
  const steps = new Set<string>();
  const rewards = new Set<string>();
  const revisions: string[] = [];
  for (const delivery of batch) {
    trees.add((delivery.event.data as { treeId: string }).treeId); // every type that this projection handles names its tree
    if (isOf(delivery, 'StepTaken')) steps.add(delivery.event.data.parentStepId);
    if (isOf(delivery, 'RolloutFinished')) steps.add(delivery.event.data.leafStepId);
    if (!isOf(delivery, 'RewardRevised')) continue;
    rewards.add(delivery.event.data.rewardId);
    revisions.push(delivery.event.id);
  }
  return { trees, steps, rewards, revisions };
}
