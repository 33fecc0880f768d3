import { textReader } from '../../blobs/read-text.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { checkPrompts } from '../../projections/prompts/check-prompts.ts';
import type { Comparison } from './replay-report.ts';

/**
 * Puts the prompts of a tree together again and compares them with what was sent, by their digests; a difference names the step.
 * Those of a tree whose payload is forgotten are not compared.
 */
export async function comparePrompts({ database, blobs }: Platform, treeId: string, comparison: Comparison): Promise<void> {
  if (await isForgotten(database.db, treeId)) return;
  const text = textReader(blobs);
  const payloads = {
    text: ({ blob }: { readonly blob: string }) => text(blob),
    bytes: ({ blob }: { readonly blob: string }) => blobs.get(blob),
  };
  for (const { id, sha256, fault } of await checkPrompts(database.db, treeId, payloads))
    comparison.compare({ eventId: null, stepId: id, field: 'prompt' }, sha256, fault ?? sha256);
}
