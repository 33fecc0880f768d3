import type { BlobRef } from '../../events/schemas/values.ts';
import { parsePosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree } from '../../projections/of-tree.ts';
import { PromptUnreadable } from '../../projections/prompts/prompt-unreadable.ts';
import { prompts as promptsProjection } from '../../projections/prompts/prompts.ts';
import { readShownPrompts, type StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import { readBatchesById } from '../../projections/training-pool/read-batches.ts';
import { isProjected } from '../../projections/wait-until.ts';
import { type BatchRows, RowsError } from './batch-rows.ts';
import { ownSteps } from './jagged.ts';
import { type BlobReader, readBlob } from './read-blob.ts';

/**
 * Reads what the steps of a batch were asked with, by `keyInTree`; steps without a recorded prompt are left out.
 * @throws PromptUnreadable; RowsError `blob`.
 */
export async function readPromptsOfRows(
  db: Db,
  blobs: BlobReader,
  { trajectories }: Pick<BatchRows, 'trajectories'>,
): Promise<ReadonlyMap<string, StoredPrompt>> {
  const steps = new Map<string, OfTree>();
  for (const trajectory of trajectories)
    for (const { stepId: id } of ownSteps(trajectory))
      steps.set(keyInTree(trajectory.treeId, id), { treeId: trajectory.treeId, id });
  const bytes = ({ blob }: BlobRef) => readBlob(blobs, blob, 'a part of a prompt');
  return readShownPrompts(db, [...steps.values()], {
    bytes,
    text: async (reference) => Buffer.from(await bytes(reference)).toString('utf8'),
  });
}

/**
 * Reads the same once the prompts hold what the planner of the batch had read: a prompt that is missing until then would pass for
 * one that nobody recorded. @throws RowsError `incomplete` before that, and where a recorded prompt does not come to what was
 * shown; RowsError `blob`.
 */
export async function readPromptsOfBatch(
  db: Db,
  blobs: BlobReader,
  rows: Pick<BatchRows, 'trajectories' | 'batch'>,
): Promise<ReadonlyMap<string, StoredPrompt>> {
  const { batchId } = rows.batch;
  const [batch] = await readBatchesById(db, [batchId]);
  if (batch && !(await isProjected(db, parsePosition(batch.position), [promptsProjection])))
    throw new RowsError('incomplete', `batch ${batchId}: the projection prompts is behind the plan`);
  try {
    return await readPromptsOfRows(db, blobs, rows);
  } catch (error) {
    if (error instanceof PromptUnreadable)
      throw new RowsError('incomplete', `batch ${batchId}: ${error.message}`, { cause: error });
    throw error;
  }
}
