import { textReader } from '../../blobs/read-text.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { checkPrompts, treesWithPrompts } from '../../projections/prompts/check-prompts.ts';
import type { Fault } from './verification.ts';

/** Puts every recorded prompt together again and compares its digest with the one that was recorded when it was sent. */
export async function verifyPrompts(
  { database, blobs }: Platform,
  signal: AbortSignal,
  fault: (found: Fault) => void,
): Promise<number> {
  const text = textReader(blobs);
  const payloads = {
    text: ({ blob }: { readonly blob: string }) => text(blob),
    bytes: ({ blob }: { readonly blob: string }) => blobs.get(blob),
  };
  let prompts = 0;
  for await (const treeId of treesWithPrompts(database.db)) {
    signal.throwIfAborted();
    if (await isForgotten(database.db, treeId)) continue; // what is left of it cannot be put together, which is no fault
    for (const checked of await checkPrompts(database.db, treeId, payloads)) {
      prompts++;
      if (checked.fault !== null) fault({ what: 'prompt', kind: 'changed', place: `${checked.id}: ${checked.fault}` });
    }
  }
  return prompts;
}
