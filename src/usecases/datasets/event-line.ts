import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { blobReferences } from '../../events/blob-references.ts';
import { isEventType } from '../../events/catalogue.ts';
import { parseEnvelope, type Refusal } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { freeFormFields, pathIn } from '../../events/free-form.ts';
import { BYTES_MEDIA, isLong, TEXT_MEDIA } from '../../events/recorded-form.ts';
import { type BlobRef, blobRef, name, sha256 } from '../../events/schemas/values.ts';
import { streamOf } from '../../events/stream-of.ts';
import { DatasetError, reasonOf } from './dataset-error.ts';

/**
 * Our own JSONL: a header line, one event per line, a last line with their number, so that a file cut at any place is recognised.
 *
 *     {"format":"espalier-events","version":1}
 *     {"blob":{"sha256":…,"mediaType":…,"base64":…}}
 *     {"id":…,"type":"RunStarted","schemaVersion":1,"occurredAt":…,"correlationId":…,"causationId":…,"data":{…}}
 *     …
 *     {"end":{"events":1234}}
 *
 * Events stand run by run (start, trees, end) and tree by tree; a tree's events stand together, each after what it refers to.
 * Payloads are inline; one that a producer put into its blob store in a form that no append produces (a short one, an own media
 * type) is a line before the first event that names it. So the file needs no blob store. Producer and sequence are of the log it
 * came from and stay there: who imports is the producer then. Ids, times and what was replaced in texts (`repaired`, absent
 * otherwise) travel, so a second import of the same file adds nothing.
 */
export const HEADER = { format: 'espalier-events', version: 1 } as const;

export interface EndLine {
  readonly end: { readonly events: number };
}

/** Writes one event as a line. Its payloads must be inline. */
export function eventLine(event: Envelope): string {
  const { id, type, schemaVersion, occurredAt, correlationId, causationId, repaired, data } = event;
  return `${JSON.stringify({ id, type, schemaVersion, occurredAt, correlationId, causationId, repaired, data })}\n`;
}

type ParsedLine =
  | { readonly kind: 'event'; readonly event: Envelope }
  | { readonly kind: 'blob'; readonly blob: CarriedBlob }
  | { readonly kind: 'end'; readonly events: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Reads a line after the header: an event of the current version (old ones are brought up), a payload, the end, or a refusal with
 * its reason.
 */
export function parseEventLine(value: unknown): ParsedLine {
  if (typeof value === 'object' && value !== null && 'end' in value) {
    const { end } = value;
    if (typeof end === 'object' && end !== null && 'events' in end && typeof end.events === 'number')
      return { kind: 'end', events: end.events };
  }
  const blob = parseBlobLine(value);
  if (blob !== undefined)
    return typeof blob === 'string'
      ? { kind: 'refused', refusal: { code: 'invalid', path: '', message: blob } }
      : { kind: 'blob', blob };
  const decoded = parseEnvelope(withPlaceholders(value));
  return decoded.kind === 'event' ? decoded : { kind: 'refused', refusal: decoded.refusal };
}

/** The parts of an envelope that the file leaves out; the appender adds them again. */
function withPlaceholders(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const type = 'type' in value ? value.type : undefined;
  const stream = typeof type === 'string' && isEventType(type) && 'data' in value ? streamOf(type, value.data) : undefined;
  return { ...value, ...(stream === undefined ? {} : { stream }), sequence: 0, producer: { name: 'file', version: '1' } };
}

/**
 * A payload that an event names and cannot hold inline: it travels in a line of its own, once per file, before the first event
 * that names it.
 */
export interface CarriedBlob {
  readonly sha256: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

const line = z.strictObject({ blob: z.strictObject({ sha256, mediaType: name, base64: z.base64() }) });

/**
 * Reads the payloads that events name and `seen` does not hold yet. One that only free-form JSON names and that the store lacks
 * is no payload.
 */
export async function readCarried(
  events: readonly Envelope[],
  blobs: BlobStore,
  seen: Set<string>,
): Promise<readonly CarriedBlob[]> {
  const carried: CarriedBlob[] = [];
  for (const event of events) {
    for (const { reference, part } of blobReferences(event)) {
      const { blob, mediaType } = reference;
      if (seen.has(blob) || (part === 'free-form' && !(await blobs.has(blob)))) continue;
      seen.add(blob);
      carried.push({ sha256: blob, mediaType, bytes: await blobs.get(blob) });
    }
  }
  return carried;
}

/** Writes a payload as a line. */
export function blobLine({ sha256: digest, mediaType, bytes }: CarriedBlob): string {
  return `${JSON.stringify({ blob: { sha256: digest, mediaType, base64: Buffer.from(bytes).toString('base64') } })}\n`;
}

/** Reads such a line; a text says what is wrong with it. Undefined for a line of another kind. */
function parseBlobLine(value: unknown): CarriedBlob | string | undefined {
  if (typeof value !== 'object' || value === null || !('blob' in value)) return undefined;
  const parsed = line.safeParse(value);
  if (!parsed.success)
    return `the payload does not fit: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}`;
  const { sha256: digest, mediaType, base64 } = parsed.data.blob;
  const bytes = Buffer.from(base64, 'base64');
  const found = sha256Hex(bytes);
  return found === digest ? { sha256: digest, mediaType, bytes } : `the payload ${digest} has the content of ${found}`;
}

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
