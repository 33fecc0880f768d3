import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Db } from '../../../postgres/database.ts';
import { PromptUnreadable } from '../../../projections/prompts/prompt-unreadable.ts';
import { type RecordedPrompt, readPrompts } from '../../../projections/prompts/read-prompts.ts';
import { DatasetError } from '../dataset-error.ts';
import { fetchBlob } from './resolve-texts.ts';

/**
 * Reads the prompts of steps of a tree, by their ids; steps without a recorded one are left out. @throws DatasetError `missing-prompt`
 * where the record does not come to what was shown, `blob`.
 */
export async function readPromptsOf(
  db: Db,
  blobs: Pick<BlobStore, 'get'>,
  treeId: string,
  steps: readonly string[],
): Promise<ReadonlyMap<string, RecordedPrompt>> {
  const bytes = ({ blob }: { readonly blob: string }) => fetchBlob(blobs, blob, 'prompts', 'a text');
  try {
    const prompts = await readPrompts(
      db,
      steps.map((id) => ({ treeId, id })),
      { bytes, text: async (reference) => Buffer.from(await bytes(reference)).toString('utf8') },
    );
    return new Map([...prompts.values()].map((prompt) => [prompt.stepId, prompt]));
  } catch (error) {
    if (!(error instanceof PromptUnreadable)) throw error;
    throw new DatasetError('missing-prompt', `${error.message}; leave the run out by a filter to export without it`, {
      cause: error,
    });
  }
}
