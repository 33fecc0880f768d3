import { sql } from 'kysely';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import type { Judged, TouchedBatch } from './touched.ts';
import { pairsTouched, type TouchedRollouts } from './touched-rollouts.ts';

/**
 * Leaves out of batches what was trained before the scorer judged: an update records the position of the rewards that it was
 * computed from, and a judgement behind it had no part in it. Judgements count by the tree: the advantages of a group depend on
 * the rewards of all its members. Batches that are not trained, or whose update records no position, stay as they are.
 * @param rollouts that the recall begins with.
 */
export async function excludeTrainedEarlier(
  db: Db,
  { name, revision }: Judged,
  rollouts: Pick<TouchedRollouts, 'rolloutIds' | 'ofTrees'>,
  batches: readonly TouchedBatch[],
): Promise<TouchedBatch[]> {
  const ids = batches.map(({ batchId }) => batchId);
  const updates = await sql<{ batchId: string; rewardsAt: string }>`
    select b.batch_id, e.body::jsonb #>> '{data,rewardsAt}' as rewards_at
    from batches b join events e on e.stream = b.lineage_id and e.type = 'PolicyUpdated'
    where b.batch_id = any(${ids}::uuid[]) and e.body::jsonb #>> '{data,batchId}' = b.batch_id::text
      and e.body::jsonb #>> '{data,rewardsAt}' is not null`.execute(db);
  if (updates.rows.length === 0) return [...batches];
  const rewardsAt = new Map(updates.rows.map(({ batchId, rewardsAt: at }) => [batchId, parsePosition(at)]));
  const judged = await sql<{ batchId: string; samples: number; topic: string; partition: number; first: number }>`
    with samples as (
      select batch_id, tree_id, count(*)::integer as samples from batch_samples
      where (rollout_id, tree_id) in (${pairsTouched(rollouts)}) and batch_id = any(${[...rewardsAt.keys()]}::uuid[])
      group by batch_id, tree_id
    ), first_judgements as (
      select stream, topic, partition, min("offset") as first from events
      where stream in (select tree_id from samples) and type in ('RewardAssigned', 'RewardRevised')
        and body::jsonb #>> '{data,scorer,name}' = ${name}
        and (${revision}::text is null or body::jsonb #>> '{data,scorer,revision}' = ${revision})
      group by stream, topic, partition
    )
    select s.batch_id, s.samples, j.topic, j.partition, j.first
    from samples s join first_judgements j on j.stream = s.tree_id`.execute(db);
  const left = new Map<string, number>();
  for (const { batchId, samples, topic, partition, first } of judged.rows)
    if (first < (rewardsAt.get(batchId)?.get(topic)?.get(partition) ?? 0)) left.set(batchId, (left.get(batchId) ?? 0) + samples);
  return batches.flatMap((batch) => {
    const samples = rewardsAt.has(batch.batchId) ? (left.get(batch.batchId) ?? 0) : batch.samples;
    return samples > 0 ? [{ ...batch, samples }] : [];
  });
}
