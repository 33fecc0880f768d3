import type { EventType } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertFresh, insertRows, updateRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree } from '../of-tree.ts';
import type { Poison, Projection } from '../projection.ts';
import { partitionsIn } from './count-returns.ts';
import { foldBatch } from './fold-batch.ts';
import { loadRewardState, references } from './load-reward-state.ts';
import { writeReturns } from './returns.ts';
import { latestRows, revisionRow, rewardRow } from './rows.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = [
  ...(['TreeOpened', 'RolloutStarted', 'StepTaken', 'RolloutFinished', 'RewardAssigned', 'RewardRevised'] as const),
];

/**
 * Folds reward facts. A revision changes the value in force and is kept with the value it replaced; returns are summed again
 * along the paths that a changed reward lies on, always in one order, so that any cut into batches yields the same bits. For the
 * same end an event sees only what lies before it: a revision before its reward, a reward before its step or rollout, a step before its
 * parent and an end before its leaf go to quarantine, like a reward of a step for a rollout that did not take it.
 */
export const rewards: Projection = { name: 'rewards', version: 4, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const wanted = references(batch);
  const { trees, edges, rollouts, assigned, revised, finished, poison } = foldBatch(batch, await loadRewardState(wanted, trx));
  const changed = [...assigned, ...revised.map(({ event }) => event)].map(({ data: { treeId, rewardId: id } }) => ({
    treeId,
    id,
  }));
  await sideBySide(
    () => insertRows(trx, tables.rewardTrees, trees),
    () => insertFresh(trx, tables.rewardEdges, edges, ({ treeId, stepId }) => wanted.steps.has(keyInTree(treeId, stepId))),
    () =>
      insertFresh(trx, tables.rewardRollouts, rollouts, ({ treeId, rolloutId }) =>
        wanted.rollouts.has(keyInTree(treeId, rolloutId)),
      ),
    () =>
      insertFresh(trx, tables.rewards, assigned.map(rewardRow), ({ treeId, rewardId }) =>
        wanted.rewards.has(keyInTree(treeId, rewardId)),
      ),
    () => insertRows(trx, tables.rewardRevisions, revised.map(revisionRow)),
    () => updateRows(trx, tables.rewards, latestRows(revised)),
    () => writeReturns(finished, changed, partitionsIn(batch), trx), // it reads what is written before it
  );
  return poison;
}
