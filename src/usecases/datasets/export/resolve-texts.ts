import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { ReplyStructure } from '../../../domain/prompts/reply-message.ts';
import type { Packed } from '../../../events/schemas/values.ts';
import type { Blobs } from '../../../postgres/column-types.ts';
import type { RecordedReply } from '../../../projections/trajectories/recorded-tree.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';

/** What a payload belongs to, for the message when it is missing: `trajectory 01… step 3`. */
export type PayloadOwner = string;

/**
 * Puts the texts that lie in the blob store into their fields. @throws DatasetError `blob` that names the place and the field.
 */
export async function resolveTexts<Row extends { readonly blobs: Blobs | null }>(
  row: Row,
  blobs: Pick<BlobStore, 'get'>,
  place: PayloadOwner,
): Promise<Row> {
  if (row.blobs === null) return row;
  const texts: Record<string, string> = {};
  for (const [field, { blob }] of Object.entries(row.blobs)) {
    texts[field] = Buffer.from(await fetchBlob(blobs, blob, place, field)).toString('utf8');
  }
  return { ...row, ...texts, blobs: null }; // `blobs` names text fields of the row only
}

/** Puts the arguments of calls of tools that are in the blob store into their fields. @throws DatasetError `blob`. */
export async function resolveReply(
  reply: RecordedReply | null,
  blobs: Pick<BlobStore, 'get'>,
  place: PayloadOwner,
): Promise<ReplyStructure | null> {
  if (reply === null) return null;
  const toolCalls: ReplyStructure['toolCalls'][number][] = [];
  for (const { id, name, arguments: given } of reply.toolCalls) {
    const text =
      typeof given === 'string'
        ? given
        : Buffer.from(await fetchBlob(blobs, given.blob, place, 'reply.toolCalls.arguments')).toString('utf8');
    toolCalls.push({ id, name, arguments: text });
  }
  return { reasoning: reply.reasoning, toolCalls };
}

/** Brings packed bytes inline from the blob store. @throws DatasetError `blob`. */
export async function resolvePacked(
  packed: Packed,
  blobs: Pick<BlobStore, 'get'>,
  place: PayloadOwner,
  field: string,
): Promise<Packed> {
  if (typeof packed.bytes === 'string') return packed;
  const bytes = await fetchBlob(blobs, packed.bytes.blob, place, field);
  return { ...packed, bytes: Buffer.from(bytes).toString('base64') };
}

/** Reads one payload. @throws DatasetError `blob` that says what it belongs to and what to do. */
export async function fetchBlob(
  blobs: Pick<BlobStore, 'get'>,
  sha256: string,
  place: PayloadOwner,
  field: string,
): Promise<Uint8Array> {
  try {
    return await blobs.get(sha256);
  } catch (cause) {
    throw new DatasetError(
      'blob',
      `${place}: ${field} lies in the blob store as ${sha256} and cannot be read: ${reasonOf(cause)}; restore the blob folder, or leave this trajectory out by a filter`,
      { cause },
    );
  }
}
