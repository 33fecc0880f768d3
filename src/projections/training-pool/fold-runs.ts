import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { trainingChannel } from '../../events/schemas/training.ts';
import type { Trx } from '../../postgres/database.ts';
import { isOf } from '../projection.ts';
import { mergeRows, type Part } from './merge-rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { tables } from './tables.ts';

/** Keeps the runs whose recorded configuration says `training: {policyId, channel}`, and which runs are over. */
export async function foldRuns(batch: readonly Delivery[], trx: Trx): Promise<void> {
  const found: Part<typeof tables.trainingRuns, keyof typeof PARTS>[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'RunStarted')) {
      const { data, occurredAt } = delivery.event;
      // any JSON: a part of it, or undefined
      const named = trainingChannel.safeParse((data.config as { training?: unknown } | null)?.training);
      if (!named.success) continue;
      const { policyId, channel } = named.data;
      found.push({ part: 'started', key: { runId: data.runId }, values: { policyId, channel, startedAt: occurredAt } });
    }
    if (isOf(delivery, 'RunFinished')) {
      const { data, occurredAt } = delivery.event;
      found.push({ part: 'finished', key: { runId: data.runId }, values: { finishedAt: occurredAt } });
    }
  }
  await mergeRows(trx, tables.trainingRuns, found, PARTS);
  const feeding = found.flatMap(({ part, key, values }) =>
    part === 'started' && values.channel === 'train' && key.runId !== undefined ? [key.runId] : [],
  );
  if (feeding.length === 0) return;
  // groups that were folded before their run
  const trees = await lockClosed(trx, sql`array(select tree_id from groups where run_id = any(${feeding}::uuid[]))`);
  await settleGroups(trx, trees);
}

const PARTS = { started: ['startedAt', 'policyId', 'channel'], finished: ['finishedAt'] } as const;
