import { type Refused, refused } from '../../../domain/training/options.ts';
import { parsePosition } from '../../../log/position.ts';
import type { Db } from '../../../postgres/database.ts';
import { CheckpointDamaged } from '../../../training/backends/backend.ts';
import { linearBackend } from '../../../training/backends/linear/linear-backend.ts';
import { stepRowsOf } from '../../../training/backends/step-rows-of.ts';
import { trainingSettings } from '../../../training/backends/training-settings.ts';
import { readCheckpoint } from '../../../training/checkpoints/checkpoint-store.ts';
import type { BatchRows } from '../../../training/rows/batch-rows.ts';
import { RowsError } from '../../../training/rows/batch-rows.ts';
import { readBatchRows } from '../../../training/rows/read-batch-rows.ts';
import type { BlobReader } from '../../../training/rows/read-blob.ts';
import type { TextsOfSteps } from '../../../training/rows/read-recorded-steps.ts';
import { readRowsOfNow } from '../../../training/rows/read-rows-of-now.ts';
import { type BatchUpdate, readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import { agreesWith } from './agrees-with.ts';
import type { BatchEstimates, RewardsOf } from './batch-estimates.ts';
import { type Recomputed, recomputeAdvantages } from './recompute-advantages.ts';
import { samplesOf } from './samples-of.ts';

/**
 * Shows a batch to its estimator again: inputs and advantages, from the rewards of now or from those that it was trained on (of
 * an update that does not say at which position it read them: those at the position of the plan). @throws RowsError when the
 * batch is not planned or the read models do not hold it whole.
 */
export async function estimateBatch(db: Db, blobs: BlobReader, batchId: string, rewards: RewardsOf): Promise<BatchEstimates> {
  const update = await readBatchUpdate(db, batchId);
  if (!update) throw new RowsError('unknown-batch', `no batch ${batchId} is planned, or its plan is not folded yet`);
  const { rows, rewardsAt } = await readRows(
    db,
    blobs,
    batchId,
    rewards === 'now' ? null : (update.rewardsAt ?? update.plannedAt),
    update.backend === 'linear' ? 'texts' : 'no-texts', // its weights read them; estimators do not
  );
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  const samples = samplesOf(rows, stepRows, found.kind === 'recomputed' ? found : null);
  return {
    ...{ batchId, method: update.method, rewardsAt, samples },
    grain: found.kind === 'recomputed' ? found.grain : null,
    reason: found.kind === 'refused' ? found.reason : null,
    agrees: agreesWith(update.metrics, samples, found.kind === 'recomputed' ? found.spread : {}),
  };
}

/** Reads rows and the position of their rewards in one snapshot. @param at null: the position of now. */
async function readRows(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  at: string | null,
  texts: TextsOfSteps,
): Promise<{ readonly rows: BatchRows; readonly rewardsAt: string }> {
  if (at === null) return readRowsOfNow(db, blobs, batchId, new Map(), texts);
  return { rewardsAt: at, rows: await readBatchRows(db, blobs, batchId, parsePosition(at), texts) };
}

/** Asks the estimator of an update, with what its training was declared with. @throws what reading the checkpoint throws. */
export async function advantagesOf(
  rows: ReturnType<typeof stepRowsOf>,
  { method, backend, settings, base }: BatchUpdate,
  blobs: BlobReader,
): Promise<Recomputed | Refused> {
  if (method === null) return refused('the update cloned behaviour: it estimated no advantage');
  const declared = trainingSettings.safeParse(settings);
  try {
    return await recomputeAdvantages({
      ...{ rows, method, backend },
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
