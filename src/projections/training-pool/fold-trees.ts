import type { Delivery } from '../../events/envelope.ts';
import { insertFresh } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { isOf } from '../projection.ts';
import { mergeRows } from './merge-rows.ts';
import { readCurrentRewards, reviseRewards } from './revise-rewards.ts';
import * as row from './rows.ts';
import { sumSamples } from './sum-samples.ts';
import { tables } from './tables.ts';

/**
 * Folds the events of trees: groups and samples by their own ids, steps and rewards with them, and the sums of samples that
 * changed.
 */
export async function foldTrees(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const groups: row.GroupPart[] = [];
  const samples: row.SamplePart[] = [];
  const steps = new Map<string, row.StepRow>();
  const rewards = new Map<string, row.RewardRow>();
  const touched = { rollouts: new Set<string>(), steps: new Set<string>() };
  for (const delivery of batch) {
    if (isOf(delivery, 'TreeOpened')) groups.push(row.openedPart(delivery.event));
    if (isOf(delivery, 'TreeClosed')) groups.push(row.closedPart(delivery.event));
    if (isOf(delivery, 'RolloutStarted')) samples.push(row.startedPart(delivery.event));
    if (isOf(delivery, 'RolloutFinished')) {
      samples.push(row.finishedPart(delivery.event));
      touched.rollouts.add(delivery.event.data.rolloutId);
    }
    if (isOf(delivery, 'StepTaken')) {
      const { stepId, rolloutId } = delivery.event.data;
      if (rolloutId === null) continue; // a candidate of a search: no rollout took it
      if (!steps.has(stepId)) steps.set(stepId, row.stepRow(delivery.event.data, rolloutId));
      touched.rollouts.add(rolloutId);
    }
    if (isOf(delivery, 'RewardAssigned')) {
      const { data } = delivery.event;
      if (!rewards.has(data.rewardId)) rewards.set(data.rewardId, row.rewardRow(delivery.event));
      if (data.rolloutId !== null) touched.rollouts.add(data.rolloutId);
      else if (data.stepId !== null) touched.steps.add(data.stepId);
    }
  }
  const [, , , current] = await sideBySide(
    trx,
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
  await sumSamples(trx, [...touched.rollouts], [...touched.steps]);
}
