import type { Draft } from '../../../append/appender.ts';
import type { CarriedBlob } from '../event-line.ts';

/** An event to append, with the line of the file it comes from. Its id is of the file or its content, never fresh. */
export interface LinedDraft {
  readonly line: number;
  /** The file, where an import reads several. */
  readonly file?: string;
  readonly draft: Draft & { readonly id: string };
  /** Payloads that the file brings before this event. */
  readonly blobs?: readonly CarriedBlob[];
}

const CHUNK = 500; // drafts per look-up and append: 500–1,000 is flat for both
const CHUNK_TEXT = 4 * 1024 * 1024; // characters of text in them: one draft may hold more, and then goes alone

/** Groups drafts for one look-up and one append, bounded by number and by text. */
export async function* chunkDrafts(drafts: AsyncIterable<LinedDraft>): AsyncGenerator<readonly LinedDraft[]> {
  let chunk: LinedDraft[] = [];
  let text = 0;
  for await (const lined of drafts) {
    chunk.push(lined);
    for (const value of Object.values(lined.draft.data)) if (typeof value === 'string') text += value.length;
    for (const { bytes } of lined.blobs ?? []) text += bytes.length;
    if (chunk.length < CHUNK && text < CHUNK_TEXT) continue;
    yield chunk;
    chunk = [];
    text = 0;
  }
  if (chunk.length > 0) yield chunk;
}
