import type { BlobStore } from '../blobs/blob-store.ts';
import type { Envelope } from '../events/envelope.ts';
import { blobRef } from '../events/schemas/values.ts';
import { DatasetError, reasonOf } from './dataset-error.ts';

/**
 * Brings every payload of an event that lies in the blob store back inline: text as it was, packed token bytes as base64. Appending the
 * result puts the same bytes under the same hash again, so the fact does not change. @throws DatasetError `blob` naming event and field.
 */
export async function inlinePayloads<E extends Envelope>(event: E, blobs: BlobStore): Promise<E> {
  const data = await inline(event.data, blobs, event, 'data', 'text');
  return data === event.data ? event : { ...event, data };
}

async function inline(value: unknown, blobs: BlobStore, event: Envelope, path: string, as: 'text' | 'base64'): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((item, i) => inline(item, blobs, event, `${path}.${i}`, 'text')));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if ('blob' in value) {
    const ref = blobRef.safeParse(value);
    if (ref.success) return fetchText(blobs, ref.data.blob, event, path, as);
  }
  let copy: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const next = await inline(item, blobs, event, `${path}.${key}`, key === 'bytes' && 'dtype' in value ? 'base64' : 'text');
    if (next === item) continue;
    copy ??= { ...value };
    copy[key] = next;
  }
  return copy ?? value;
}

async function fetchText(
  blobs: BlobStore,
  sha256: string,
  event: Envelope,
  path: string,
  as: 'text' | 'base64',
): Promise<string> {
  try {
    return Buffer.from(await blobs.get(sha256)).toString(as === 'text' ? 'utf8' : 'base64');
  } catch (cause) {
    throw new DatasetError(
      'blob',
      `${event.type} ${event.id}: ${path} lies in the blob store as ${sha256} and cannot be read: ${reasonOf(cause)}; restore the blob folder, or leave its tree out by a filter`,
      { cause },
    );
  }
}
