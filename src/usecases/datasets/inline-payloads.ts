import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Envelope } from '../../events/envelope.ts';
import { freeFormFields, pathIn } from '../../events/free-form.ts';
import { BYTES_MEDIA, isLong, TEXT_MEDIA } from '../../events/recorded-form.ts';
import { type BlobRef, blobRef } from '../../events/schemas/values.ts';
import { DatasetError, reasonOf } from './dataset-error.ts';

/**
 * Brings the payloads of an event that lie in the blob store back inline: text as it was, packed token bytes as base64. A
 * reference stays where appending the inline form would not give it again (a short text, bytes that are no UTF-8, another media
 * type: a producer put it there itself), and in free-form JSON, which is nobody's but the producer's. So appending the result
 * returns the same event. @throws DatasetError `blob` naming event and field.
 */
export async function inlinePayloads<E extends Envelope>(event: E, blobs: BlobStore): Promise<E> {
  const data = await inline(event.data, { blobs, event, freeForm: freeFormFields(event.type) }, 'data', '', 'text');
  return data === event.data ? event : { ...event, data };
}

interface Inlining {
  readonly blobs: BlobStore;
  readonly event: Envelope;
  readonly freeForm: ReadonlySet<string>;
}

type Form = 'text' | 'base64';

async function inline(value: unknown, from: Inlining, place: string, field: string, form: Form): Promise<unknown> {
  if (typeof value !== 'object' || value === null || from.freeForm.has(field)) return value;
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((item, i) => inline(item, from, `${place}.${i}`, pathIn(field, '*'), 'text')));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if ('blob' in value) {
    const reference = blobRef.safeParse(value);
    if (reference.success) return inlineForm(reference.data, await readPayload(reference.data, from, place), form) ?? value;
  }
  let changed = false;
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const packed = key === 'bytes' && 'dtype' in value;
    const next = await inline(item, from, `${place}.${key}`, pathIn(field, key), packed ? 'base64' : 'text');
    changed ||= next !== item;
    entries.push([key, next]);
  }
  return changed ? Object.fromEntries(entries) : value;
}

/** Returns the inline form of a payload where an append would put it under the same reference again. */
function inlineForm({ size, mediaType }: BlobRef, bytes: Buffer, form: Form): string | undefined {
  if (size !== bytes.length || mediaType !== (form === 'text' ? TEXT_MEDIA : BYTES_MEDIA)) return undefined;
  const text = bytes.toString(form === 'text' ? 'utf8' : 'base64');
  if (!isLong(text)) return undefined;
  return form === 'base64' || (!text.includes('\0') && Buffer.from(text, 'utf8').equals(bytes)) ? text : undefined;
}

async function readPayload({ blob }: BlobRef, { blobs, event }: Inlining, place: string): Promise<Buffer> {
  try {
    return Buffer.from(await blobs.get(blob));
  } catch (cause) {
    throw new DatasetError(
      'blob',
      `${event.type} ${event.id}: ${place} lies in the blob store as ${blob} and cannot be read: ${reasonOf(cause)}; restore the blob folder, or leave its tree out by a filter`,
      { cause },
    );
  }
}
