import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison } from '../projection.ts';
import { loadTrainingState, sampleKey, type TrainingState } from './load-training-state.ts';
import { mergeRows } from './merge-rows.ts';
import { lockClosed, settleGroups } from './settled-samples.ts';
import { tables } from './tables.ts';
import * as row from './training-rows.ts';

type Refused = Omit<Poison, 'delivery'>;

/**
 * Folds the streams of training, which are in order: the batches of a lineage follow one another by ordinal and hash, a sample ends
 * in one batch or by one rejection, and a batch is trained or abandoned. What contradicts that is quarantined whole.
 */
export async function foldTraining(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const mine = batch.filter((delivery) => 'lineageId' in delivery.event.data);
  if (mine.length === 0) return [];
  const trainingState = await loadTrainingState(mine, trx);
  const rows: Rows = {
    lineages: [],
    batches: [],
    samples: [],
    rejections: [],
    leases: [],
    acks: [],
    abandonments: [],
    checkpoints: [],
    versions: [],
  };
  const poison: Poison[] = [];
  for (const delivery of mine) {
    const refused = fold(delivery, trainingState, rows);
    if (refused) poison.push({ delivery, ...refused });
  }
  await insertRows(trx, tables.lineages, rows.lineages);
  await insertRows(trx, tables.batches, rows.batches);
  await insertRows(trx, tables.batchSamples, rows.samples);
  await insertRows(trx, tables.sampleRejections, rows.rejections);
  await mergeRows(trx, tables.leases, rows.leases, row.LEASE_PARTS);
  await insertRows(trx, tables.batchAcks, rows.acks);
  await insertRows(trx, tables.batchAbandonments, rows.abandonments);
  await insertRows(trx, tables.checkpoints, rows.checkpoints);
  await insertRows(trx, tables.policyVersions, rows.versions);
  await settle(rows, trx);
  return poison;
}

/** Counts the groups of samples that the slice plans, rejects, or says the end of. */
async function settle({ samples, rejections, acks, abandonments }: Rows, trx: Trx): Promise<void> {
  const named = [...samples, ...rejections].map(({ treeId }) => treeId);
  const batches = [...acks, ...abandonments].map(({ batchId }) => batchId);
  if (named.length + batches.length === 0) return;
  const trees = await lockClosed(
    trx,
    sql`array(
      select unnest(${named}::uuid[]) union select tree_id from batch_samples where batch_id = any(${batches}::uuid[]))`,
  );
  await settleGroups(trx, trees);
}

interface Rows {
  readonly lineages: Row<typeof tables.lineages>[];
  readonly batches: Row<typeof tables.batches>[];
  readonly samples: row.BatchSampleRow[];
  readonly rejections: Row<typeof tables.sampleRejections>[];
  readonly leases: row.LeasePart[];
  readonly acks: Row<typeof tables.batchAcks>[];
  readonly abandonments: Row<typeof tables.batchAbandonments>[];
  readonly checkpoints: Row<typeof tables.checkpoints>[];
  readonly versions: Row<typeof tables.policyVersions>[];
}

/** What is said of a batch that its lineage planned. */
const OF_BATCHES: ReadonlySet<EventType> = new Set<EventType>([
  ...(['BatchLeased', 'LeaseExpired', 'BatchReturned', 'BatchAcked', 'BatchAbandoned'] as const),
]);

function fold(delivery: Delivery, state: TrainingState, rows: Rows): Refused | undefined {
  // every event of the topic names both
  const { lineageId, policyId } = delivery.event.data as { lineageId: string; policyId: string };
  if (lineageId !== derivedId('lineage', policyId))
    return {
      code: 'conflict',
      field: 'data.lineageId',
      reason: `the lineage of policy ${policyId} is ${derivedId('lineage', policyId)}`,
    };
  if (isOf(delivery, 'TrainingDeclared')) rows.lineages.push(row.lineageRow(delivery.event));
  if (isOf(delivery, 'BatchPlanned')) return foldBatch(delivery.event, state, rows);
  if (isOf(delivery, 'SampleRejected')) {
    const { rolloutId, groupId } = delivery.event.data;
    const key = sampleKey(policyId, groupId, rolloutId);
    const batchId = state.batchOf.get(key);
    if (batchId !== undefined)
      return {
        code: 'conflict',
        field: 'data.rolloutId',
        reason: `sample ${rolloutId} is in batch ${batchId}; it cannot be rejected`,
      };
    state.rejected.add(key);
    rows.rejections.push(row.rejectionRow(delivery.event));
  }
  if (OF_BATCHES.has(delivery.event.type)) {
    const { batchId } = delivery.event.data as { batchId: string }; // of these types
    if (state.planned.get(batchId) !== lineageId)
      return {
        code: 'missing-batch',
        field: 'data.batchId',
        reason: `policy ${policyId} has no batch ${batchId}; append its BatchPlanned first`,
      };
  }
  if (isOf(delivery, 'BatchLeased')) rows.leases.push(row.leasedPart(delivery.event));
  if (isOf(delivery, 'LeaseExpired')) rows.leases.push(row.endedPart(delivery.event, 'expired', null));
  if (isOf(delivery, 'BatchReturned')) rows.leases.push(row.endedPart(delivery.event, 'returned', delivery.event.data.reason));
  if (isOf(delivery, 'BatchAcked')) {
    if (state.abandonments.has(delivery.event.data.batchId)) return endedBefore(delivery.event.data.batchId, 'abandoned');
    rows.leases.push(row.endedPart(delivery.event, 'acked', null));
    state.acks.add(delivery.event.data.batchId);
    rows.acks.push(row.ackRow(delivery.event));
  }
  if (isOf(delivery, 'BatchAbandoned')) {
    const { batchId } = delivery.event.data;
    if (state.acks.has(batchId)) return endedBefore(batchId, 'acknowledged');
    for (const each of row.abandonedParts(delivery.event)) rows.leases.push(each);
    state.abandonments.add(batchId);
    rows.abandonments.push(row.abandonmentRow(delivery.event));
  }
  if (isOf(delivery, 'CheckpointSaved')) rows.checkpoints.push(row.checkpointRow(delivery.event));
  if (isOf(delivery, 'PolicyUpdated')) rows.versions.push(row.versionRow(delivery.event));
  return undefined;
}

function foldBatch({ data, occurredAt }: Envelope<'BatchPlanned'>, state: TrainingState, rows: Rows): Refused | undefined {
  const place = `${data.lineageId} ${data.ordinal}`;
  const recorded = state.manifests.get(place);
  if (recorded === data.manifestHash) return undefined;
  if (recorded !== undefined)
    return {
      code: 'conflict',
      field: 'data.ordinal',
      reason: `batch ${data.ordinal} of ${data.policyId} was planned with manifest ${recorded}`,
    };
  const hash = manifestHashOf(data);
  if (hash !== data.manifestHash)
    return { code: 'digest', field: 'data.manifestHash', reason: `it is not the digest of the manifest, which is ${hash}` };
  const before = data.ordinal === 0 ? null : state.manifests.get(`${data.lineageId} ${data.ordinal - 1}`);
  if (data.previousHash !== before) {
    const reason =
      before === undefined ? `batch ${data.ordinal - 1} was not planned` : `the manifest of the batch before is ${before}`;
    return { code: before === undefined ? 'missing-batch' : 'conflict', field: 'data.previousHash', reason };
  }
  if (data.batchId !== derivedId('batch', data.lineageId, data.ordinal))
    return {
      code: 'conflict',
      field: 'data.batchId',
      reason: `batch ${data.ordinal} is ${derivedId('batch', data.lineageId, data.ordinal)}`,
    };
  const samples = row.batchSampleRows(data);
  const keyOf = ({ treeId, rolloutId }: row.BatchSampleRow) => sampleKey(data.policyId, treeId, rolloutId);
  const ended = samples.find((sample) => state.batchOf.has(keyOf(sample)) || state.rejected.has(keyOf(sample)));
  if (ended !== undefined || new Set(samples.map(keyOf)).size < samples.length) {
    const reason =
      ended === undefined ? 'a sample occurs in it twice' : `sample ${ended.rolloutId} was planned or rejected before`;
    return { code: 'conflict', field: 'data.groups', reason };
  }
  state.manifests.set(place, data.manifestHash);
  state.planned.set(data.batchId, data.lineageId);
  for (const sample of samples) state.batchOf.set(keyOf(sample), data.batchId);
  rows.batches.push(row.batchRow(data, occurredAt));
  for (const sample of samples) rows.samples.push(sample);
  return undefined;
}

/** A batch has one end. */
function endedBefore(batchId: string, how: 'acknowledged' | 'abandoned'): Refused {
  return { code: 'conflict', field: 'data.batchId', reason: `batch ${batchId} was ${how} before; it ends once` };
}
