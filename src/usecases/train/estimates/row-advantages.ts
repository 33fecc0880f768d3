import type { Db } from '../../../postgres/database.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { stepRowsOf } from '../../../training/backends/step-rows-of.ts';
import type { BatchRows } from '../../../training/rows/batch-rows.ts';
import { ownSteps } from '../../../training/rows/jagged.ts';
import type { BlobReader } from '../../../training/rows/read-blob.ts';
import type { RowAdvantages, StepAdvantages } from '../../../training/rows/row-advantages.ts';
import { readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import { advantagesOf } from './estimate-batch.ts';

/**
 * Estimates the advantages of the rows of a batch for a trainer elsewhere: by the functions that our own trainers call, from the
 * rewards in the rows. Refused, with the reason, where they depend on what only the trainer knows, such as a critic's values.
 */
export async function rowAdvantages(db: Db, blobs: BlobReader, rows: BatchRows): Promise<RowAdvantages> {
  const update = await readBatchUpdate(db, rows.batch.batchId);
  if (!update?.method) return { kind: 'refused', reason: 'the training of the batch estimates no advantage' };
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, blobs);
  if (found.kind === 'refused') return found;
  const ofStep = new Map<string, StepAdvantages>();
  const own = rows.trajectories.flatMap(ownSteps);
  for (const [i, row] of stepRows.entries()) {
    const estimate = found.ofRow.get(row);
    const step = own[i];
    if (estimate && step) ofStep.set(keyInTree(row.groupId, step.stepId), estimate);
  }
  return { kind: 'estimated', method: update.method, ofStep };
}
