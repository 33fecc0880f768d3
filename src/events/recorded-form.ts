import { sha256Hex } from '../digest/sha256.ts';
import type { EventType } from './catalogue.ts';
import { freeFormFields, pathIn } from './free-form.ts';
import type { BlobRef } from './schemas/values.ts';
import { wellFormed } from './well-formed.ts';

/** Payloads above this many UTF-8 bytes leave the event for the blob store. */
export const INLINE_LIMIT = 64 * 1024;

/** The media types under which this program puts texts and packed arrays. */
export const TEXT_MEDIA = 'text/plain; charset=utf-8';
export const BYTES_MEDIA = 'application/octet-stream';

export interface RecordedForm {
  readonly data: Readonly<Record<string, unknown>>;
  /** The paths in `data` of what was replaced by U+FFFD. */
  readonly repaired: readonly string[];
  readonly blobs: readonly { readonly bytes: Buffer; readonly mediaType: string }[];
}

/**
 * Returns the data of an event as the log holds them: text well-formed, and references in the place of payloads over 64 KiB, but for
 * free-form JSON. The schema refuses a reference where a field may hold none.
 */
export function recordedForm(type: EventType, data: object): RecordedForm {
  const { value, repaired } = wellFormed(data);
  const blobs: { bytes: Buffer; mediaType: string }[] = [];
  const into = { freeForm: freeFormFields(type), blobs };
  return { data: offload(value, into, '', 'text') as Record<string, unknown>, repaired, blobs }; // an object stays one
}

/** Returns whether JSON may hold what its recorded form does not: an escape for a character that no store keeps, or a long text. */
export function mayDifferRecorded(json: string | Buffer): boolean {
  // A UTF-16 unit is at most three UTF-8 bytes.
  return json.length * (typeof json === 'string' ? 3 : 1) > INLINE_LIMIT || json.includes('\\u');
}

/** Returns whether a value is a text that leaves its event. */
export function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length * 3 > INLINE_LIMIT && Buffer.byteLength(value) > INLINE_LIMIT;
}

interface Offloading {
  readonly freeForm: ReadonlySet<string>;
  readonly blobs: { bytes: Buffer; mediaType: string }[];
}

function offload(value: unknown, into: Offloading, path: string, form: 'text' | 'base64'): unknown {
  if (isLong(value)) {
    const bytes = Buffer.from(value, form === 'text' ? 'utf8' : 'base64');
    const mediaType = form === 'text' ? TEXT_MEDIA : BYTES_MEDIA;
    into.blobs.push({ bytes, mediaType });
    return { blob: sha256Hex(bytes), size: bytes.byteLength, mediaType } satisfies BlobRef;
  }
  if (typeof value !== 'object' || value === null || into.freeForm.has(path)) return value;
  if (Array.isArray(value)) return value.map((item) => offload(item, into, pathIn(path, '*'), 'text'));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isPacked = key === 'bytes' && 'dtype' in value;
      return [key, offload(item, into, pathIn(path, key), isPacked ? 'base64' : 'text')];
    }),
  );
}
