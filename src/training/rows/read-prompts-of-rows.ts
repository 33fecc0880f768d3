import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { type RecordedPrompt, readPrompts } from '../../projections/prompts/read-prompts.ts';
import type { BatchRows } from './batch-rows.ts';
import { ownSteps } from './jagged.ts';
import { type BlobReader, readBlob } from './read-blob.ts';

/**
 * Reads what the steps of a batch were asked with, by their ids; steps without a recorded prompt are left out.
 * @throws PromptUnreadable; RowsError `blob`.
 */
export async function readPromptsOfRows(
  db: Db,
  blobs: BlobReader,
  { trajectories }: Pick<BatchRows, 'trajectories'>,
): Promise<ReadonlyMap<string, RecordedPrompt>> {
  const steps = new Set(trajectories.flatMap((trajectory) => ownSteps(trajectory).map(({ stepId }) => stepId)));
  const bytes = ({ blob }: BlobRef) => readBlob(blobs, blob, 'a part of a prompt');
  return readPrompts(db, [...steps], { bytes, text: async (reference) => Buffer.from(await bytes(reference)).toString('utf8') });
}
