import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { insertFresh } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { keyInTree, keyOf, type OfTree } from '../of-tree.ts';
import { isOf } from '../projection.ts';
import { mergeRows } from './merge-rows.ts';
import { readCurrentRewards, reviseRewards } from './revise-rewards.ts';
import * as row from './rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { sumSamples } from './sum-samples.ts';
import { tables } from './tables.ts';

/**
 * Folds the events of trees: groups, and samples, steps and rewards by their ids in their tree, and the sums of samples that
 * changed. Groups that are closed with it, or were before, are counted where nothing is owed of them.
 */
export async function foldTrees(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const groups: row.GroupPart[] = [];
  const samples: row.SamplePart[] = [];
  const steps = new Map<string, row.StepRow>(); // by `keyInTree`, and so what follows
  const rewards = new Map<string, row.RewardRow>();
  const touched = { rollouts: new Map<string, OfTree>(), steps: new Map<string, OfTree>() };
  const touch = (what: keyof typeof touched, of: OfTree) => touched[what].set(keyOf(of), of);
  const moved = new Set<string>(); // trees of whose samples or whose end it says something
  const closed: string[] = [];
  for (const delivery of batch) {
    if (!isOf(delivery, 'RewardAssigned') && !isOf(delivery, 'RewardRevised') && 'treeId' in delivery.event.data)
      moved.add(delivery.event.data.treeId);
    if (isOf(delivery, 'TreeOpened')) groups.push(row.openedPart(delivery.event));
    if (isOf(delivery, 'TreeClosed')) {
      groups.push(row.closedPart(delivery.event));
      closed.push(delivery.event.data.treeId);
    }
    if (isOf(delivery, 'RolloutStarted')) samples.push(row.startedPart(delivery.event));
    if (isOf(delivery, 'RolloutFinished')) {
      samples.push(row.finishedPart(delivery.event));
      const { treeId, rolloutId: id } = delivery.event.data;
      touch('rollouts', { treeId, id });
    }
    if (isOf(delivery, 'StepTaken')) {
      const { treeId, stepId, rolloutId } = delivery.event.data;
      if (rolloutId === null) continue; // a candidate of a search: no rollout took it
      const key = keyInTree(treeId, stepId);
      if (!steps.has(key)) steps.set(key, row.stepRow(delivery.event.data, rolloutId));
      touch('rollouts', { treeId, id: rolloutId });
    }
    if (isOf(delivery, 'RewardAssigned')) {
      const { treeId, rewardId, rolloutId, stepId } = delivery.event.data;
      const key = keyInTree(treeId, rewardId);
      if (!rewards.has(key)) rewards.set(key, row.rewardRow(delivery.event));
      if (rolloutId !== null) touch('rollouts', { treeId, id: rolloutId });
      else if (stepId !== null) touch('steps', { treeId, id: stepId });
    }
  }
  const [late, , , , current] = await sideBySide(
    () => (moved.size === 0 ? [] : lockClosed(trx, sql`${[...moved]}::uuid[]`)),
    () => mergeRows(trx, tables.groups, groups, row.GROUP_PARTS),
    () => mergeRows(trx, tables.samples, samples, row.SAMPLE_PARTS),
    () => insertFresh(trx, tables.sampleSteps, [...steps.values()]),
    () => readCurrentRewards(batch, trx),
    () => insertFresh(trx, tables.sampleRewards, [...rewards.values()]),
  );
  const revised = await reviseRewards(batch, current, trx);
  for (const { treeId, rolloutId, stepId } of revised) {
    if (rolloutId !== null) touch('rollouts', { treeId, id: rolloutId });
    else if (stepId !== null) touch('steps', { treeId, id: stepId });
  }
  const settled = new Set([...late, ...closed]);
  await sideBySide(
    () => sumSamples(trx, [...touched.rollouts.values()], [...touched.steps.values()]),
    () => settleGroups(trx, [...settled]),
  );
}
