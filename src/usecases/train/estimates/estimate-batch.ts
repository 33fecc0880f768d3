import { type Refused, refused } from '../../../domain/training/options.ts';
import { parsePosition } from '../../../log/position.ts';
import type { Db } from '../../../postgres/database.ts';
import { readRewardsPosition } from '../../../projections/rewards/rewards-at.ts';
import { readProjected } from '../../../projections/wait-until.ts';
import { CheckpointDamaged } from '../../../training/backends/backend.ts';
import { linearBackend } from '../../../training/backends/linear/linear-backend.ts';
import { stepRowsOf } from '../../../training/backends/step-rows-of.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import { readCheckpoint } from '../../../training/checkpoints/checkpoint-store.ts';
import type { BatchRows } from '../../../training/rows/batch-rows.ts';
import { RowsError } from '../../../training/rows/batch-rows.ts';
import { type BatchPart, readBatchRecord, withRewards } from '../../../training/rows/read-batch-rows.ts';
import type { BlobReader } from '../../../training/rows/read-blob.ts';
import { type BatchUpdate, readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import { agreesWith } from './agrees-with.ts';
import type { BatchEstimates, RewardsOf, SampleEstimate } from './batch-estimates.ts';
import { reachOf } from './reach-of.ts';
import { type Recomputed, recomputeAdvantages } from './recompute-advantages.ts';
import { samplesOf } from './samples-of.ts';

/**
 * Shows a batch to its estimator again: inputs and advantages, from the rewards of now or from those that it was trained on (of
 * an update that does not say at which position it read them: those at the position of the plan). @throws RowsError when the
 * batch is not planned or the read models do not hold it whole.
 */
export async function estimateBatch(db: Db, blobs: BlobReader, batchId: string, rewards: RewardsOf): Promise<BatchEstimates> {
  const update = await readUpdate(db, batchId);
  const [read] = await readRows(db, blobs, batchId, update, { rewards: [rewards] });
  return estimatesOf(read, update, blobs);
}

/** The same from the rewards of now and from those trained on: what else is recorded of the batch is read once. */
export async function estimateBothWays(
  db: Db,
  blobs: BlobReader,
  batchId: string,
): Promise<Readonly<Record<RewardsOf, BatchEstimates>>> {
  const update = await readUpdate(db, batchId);
  const [now, trained] = await readRows(db, blobs, batchId, update, { rewards: ['now', 'trained'] });
  return { now: await estimatesOf(now, update, blobs), trained: await estimatesOf(trained, update, blobs) };
}

async function estimatesOf({ rows, rewardsAt }: RewardedRows, update: BatchUpdate, blobs: BlobReader): Promise<BatchEstimates> {
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  const samples = samplesOf(rows, stepRows, found.kind === 'recomputed' ? found : null);
  return {
    batchId: rows.batch.batchId,
    method: update.method,
    rewardsAt,
    samples,
    grain: found.kind === 'recomputed' ? found.grain : null,
    reason: found.kind === 'refused' ? found.reason : null,
    agrees: agreesWith(update.metrics, samples, found.kind === 'recomputed' ? found.spread : {}),
  };
}

/**
 * Shows some groups of a batch to its estimator again: the samples that `estimateBatch` returns of them, without reading the
 * others. Null where the advantages of a group follow from the batch as a whole. @throws what `estimateBatch` throws.
 */
export async function estimateGroups(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  { rewards, trees }: { readonly rewards: RewardsOf; readonly trees: ReadonlySet<string> },
): Promise<readonly SampleEstimate[] | null> {
  const update = await readUpdate(db, batchId);
  if (reachOf(update) === 'batch') return null;
  const [{ rows }] = await readRows(db, blobs, batchId, update, { rewards: [rewards], trees });
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  return samplesOf(rows, stepRows, found.kind === 'recomputed' ? found : null);
}

async function readUpdate(db: Db, batchId: string): Promise<BatchUpdate> {
  const update = await readBatchUpdate(db, batchId);
  if (!update) throw new RowsError('unknown-batch', `no batch ${batchId} is planned, or its plan is not folded yet`);
  return update;
}

interface RewardedRows {
  readonly rows: BatchRows;
  /** The position of their rewards. */
  readonly rewardsAt: string;
}

/** Reads rows, once for all that their rewards are of, and the positions of these rewards, in one snapshot. */
async function readRows<const Wanted extends readonly RewardsOf[]>(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  update: BatchUpdate,
  { rewards, ...which }: Pick<BatchPart, 'trees'> & { readonly rewards: Wanted },
): Promise<{ readonly [K in keyof Wanted]: RewardedRows }> {
  // the weights of a linear policy read texts; estimators do not
  const part: BatchPart = { ...which, texts: update.backend === 'linear' ? 'texts' : 'no-texts' };
  const trained = update.rewardsAt ?? update.plannedAt;
  return readProjected(db, new Map(), async (trx) => {
    const record = await readBatchRecord(trx, blobs, batchId, part);
    const found: RewardedRows[] = [];
    for (const of of rewards)
      found.push({
        rewardsAt: of === 'now' ? await readRewardsPosition(trx) : trained,
        rows: await withRewards(trx, record, of === 'now' ? 'now' : parsePosition(trained)),
      });
    return found as { readonly [K in keyof Wanted]: RewardedRows }; // one for each
  });
}

/** Asks the estimator of an update, with what its training was declared with. @throws what reading the checkpoint throws. */
export async function advantagesOf(
  rows: ReturnType<typeof stepRowsOf>,
  { method, backend, settings, base }: BatchUpdate,
  blobs: BlobReader,
): Promise<Recomputed | Refused> {
  if (method === null) return refused('the update names no estimator');
  const declared = trainingSettings.safeParse(settings);
  try {
    return await recomputeAdvantages({
      rows,
      method,
      backend,
      ...(declared.success ? { settings: declared.data } : {}),
      async readBase() {
        if (base === null) throw new CheckpointDamaged('the checkpoint that the batch is trained from is not on record');
        return readCheckpoint(blobs, linearBackend(), base);
      },
    });
  } catch (error) {
    if (error instanceof CheckpointDamaged) return refused(error.message);
    throw error;
  }
}
