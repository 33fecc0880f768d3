import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { insertFresh } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { isOf } from '../projection.ts';
import { mergeRows } from './merge-rows.ts';
import { readCurrentRewards, reviseRewards } from './revise-rewards.ts';
import * as row from './rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { sumSamples } from './sum-samples.ts';
import { tables } from './tables.ts';

/**
 * Folds the events of trees: groups and samples by their own ids, steps and rewards with them, and the sums of samples that
 * changed. Groups that are closed with it, or were before, are counted where nothing is owed of them.
 */
export async function foldTrees(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const groups: row.GroupPart[] = [];
  const samples: row.SamplePart[] = [];
  const steps = new Map<string, row.StepRow>();
  const rewards = new Map<string, row.RewardRow>();
  const touched = { rollouts: new Set<string>(), steps: new Set<string>() };
  const moved = { trees: new Set<string>(), rollouts: new Set<string>() }; // whose samples or whose end it says something of
  for (const delivery of batch) {
    if (!isOf(delivery, 'RewardAssigned') && !isOf(delivery, 'RewardRevised') && 'treeId' in delivery.event.data)
      moved.trees.add(delivery.event.data.treeId);
    if (isOf(delivery, 'TreeOpened')) groups.push(row.openedPart(delivery.event));
    if (isOf(delivery, 'TreeClosed')) groups.push(row.closedPart(delivery.event));
    if (isOf(delivery, 'RolloutStarted')) samples.push(row.startedPart(delivery.event));
    if (isOf(delivery, 'RolloutFinished')) {
      samples.push(row.finishedPart(delivery.event));
      touched.rollouts.add(delivery.event.data.rolloutId);
      moved.rollouts.add(delivery.event.data.rolloutId);
    }
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, rolloutId } = delivery.event.data;
      if (rolloutId === null) continue; // a candidate of a search: no rollout took it
      if (!steps.has(stepId)) steps.set(stepId, row.stepRow(delivery.event.data, rolloutId));
      touched.rollouts.add(rolloutId);
      moved.rollouts.add(rolloutId);
    }
    if (isOf(delivery, 'RewardAssigned')) {
      const { data } = delivery.event;
      if (!rewards.has(data.rewardId)) rewards.set(data.rewardId, row.rewardRow(delivery.event));
      if (data.rolloutId !== null) touched.rollouts.add(data.rolloutId);
      else if (data.stepId !== null) touched.steps.add(data.stepId);
    }
  }
  const [late, , , , current] = await sideBySide(
    () => lockLate(trx, moved),
    () => mergeRows(trx, tables.groups, groups, row.GROUP_PARTS),
    () => mergeRows(trx, tables.samples, samples, row.SAMPLE_PARTS),
    () => insertFresh(trx, tables.sampleSteps, [...steps.values()]),
    () => readCurrentRewards(batch, trx),
    () => insertFresh(trx, tables.sampleRewards, [...rewards.values()]),
  );
  const revised = await reviseRewards(batch, current, trx);
  for (const { rolloutId, stepId } of revised) {
    if (rolloutId !== null) touched.rollouts.add(rolloutId);
    else if (stepId !== null) touched.steps.add(stepId);
  }
  const settled = new Set([...late, ...groups.filter(({ part }) => part === 'closed').map(({ key }) => key)]);
  await sideBySide(
    () => sumSamples(trx, [...touched.rollouts], [...touched.steps]),
    () => settleGroups(trx, [...settled]),
  );
}

/** Locks the groups that were closed before the slice and that it says something of, by their own names or by a rollout's. */
async function lockLate(
  trx: Trx,
  { trees, rollouts }: { readonly trees: ReadonlySet<string>; readonly rollouts: ReadonlySet<string> },
): Promise<readonly string[]> {
  if (trees.size === 0) return [];
  return lockClosed(
    trx,
    sql`array(select unnest(${[...trees]}::uuid[]) union select tree_id from samples where rollout_id = any(${[...rollouts]}::uuid[]))`,
  );
}
