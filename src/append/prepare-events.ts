import type { BlobStore } from '../blobs/blob-store.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { catalogue } from '../events/catalogue.ts';
import { encode, parseEnvelope } from '../events/codec.ts';
import { type Envelope, type Stamp, stampOf } from '../events/envelope.ts';
import { freeFormFields, pathIn } from '../events/free-form.ts';
import type { BlobRef } from '../events/schemas/values.ts';
import { LOOK_DEPTH, wellFormed } from '../events/well-formed.ts';
import type { LogRecord } from '../log/event-log.ts';

/** A record with the event that it encodes. */
export type PreparedRecord = LogRecord & { readonly event: Envelope };

/** Payloads above this many UTF-8 bytes leave the event for the blob store. */
export const INLINE_LIMIT = 64 * 1024;

/** The media types under which this program puts texts and packed arrays. */
export const TEXT_MEDIA = 'text/plain; charset=utf-8';
export const BYTES_MEDIA = 'application/octet-stream';

const REPAIRS_LISTED = 1_000; // as the envelope's schema lets in; what is beyond is repaired and not listed
const PATH_LIMIT = 500; // characters, likewise

/**
 * Makes events ready for the log: stamped with who appends them (whatever they said of it before), text made well-formed (the
 * event lists where), payloads over 64 KiB put into the blob store (free-form JSON stays whole), the result checked against its
 * schema once more. Blobs are durable before the events that name them are appended. @param stamp `as-stamped` for events that
 * an appender of this program has stamped itself, perhaps for several projects.
 * @throws EventRefused for an event that does not fit its schema.
 */
export async function prepareEvents(
  events: readonly Envelope[],
  blobs: BlobStore,
  stamp: Stamp | 'as-stamped',
): Promise<readonly PreparedRecord[]> {
  const records: PreparedRecord[] = [];
  for (const event of events) records.push(await prepare(event, blobs, stamp === 'as-stamped' ? stampOf(event) : stamp));
  return records;
}

/**
 * Makes an event ready that `parseEnvelope` returned, as `prepareEvents` does; its schema is looked at once more only where its
 * data change on the way.
 */
export function prepareParsed(event: Envelope, blobs: BlobStore, stamp: Stamp): PreparedRecord | Promise<PreparedRecord> {
  const clean = !holdsLong(event.data, 0) && wellFormed(event.data).repaired.length === 0;
  return clean ? recordOf(stamped(event, stamp)) : prepare(event, blobs, stamp);
}

/** Stamps an event with its fields in the order in which the schema has them, which is that of the bytes on record. */
function stamped(event: Envelope, stamp: Stamp): Envelope {
  const { id, schemaVersion, stream, sequence, occurredAt, correlationId, causationId, producer } = event;
  const before = { id, schemaVersion, stream, sequence, occurredAt, correlationId, causationId, producer, ...stamp };
  return { ...before, ...event, ...stamp } as Envelope;
}

export class EventRefused extends Error {
  override readonly name = 'EventRefused';
  readonly path: string;
  constructor(type: string, path: string, message: string) {
    super(`${type}: ${path === '' ? 'the event' : path} ${message}`);
    this.path = path;
  }
}

async function prepare(event: Envelope, blobs: BlobStore, stamp: Stamp): Promise<PreparedRecord> {
  const repair = wellFormed(event.data);
  const { value } = repair;
  const data = holdsLong(value, 0) ? await offload(value, { blobs, kept: freeFormFields(event.type) }, '', 0) : value;
  const paths = [...(event.repaired ?? []), ...repair.repaired.map((path) => `data.${path}`)].slice(0, REPAIRS_LISTED);
  // A copy takes two microseconds, a twentieth of an append: one that the appender wrote is ready as it is.
  const ready =
    data === event.data && paths.length === 0 && event.principal === stamp.principal && event.project === stamp.project;
  const repaired = paths.length > 0 ? { repaired: paths.map((path) => cutText(path, PATH_LIMIT)) } : {};
  const parsed = parseEnvelope(
    ready ? event : { ...event, principal: stamp.principal, project: stamp.project, data, ...repaired },
  );
  if (parsed.kind === 'refused') throw new EventRefused(event.type, parsed.refusal.path, parsed.refusal.message);
  return recordOf(parsed.event);
}

/** Makes the record of an event that is ready. @param value its bytes. */
export function recordOf(event: Envelope, value = encode(event)): PreparedRecord {
  const { epoch, correlationId: runId } = event;
  const { topic } = catalogue[event.type];
  const record = { topic, key: event.stream, value, event };
  return epoch === undefined ? record : { ...record, fence: { runId, epoch } };
}

/** Whether a text within a value leaves its event: few events have one, and only their data is walked by name and copied. */
function holdsLong(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return isLong(value);
  if (typeof value !== 'object' || value === null || depth === LOOK_DEPTH) return false;
  if (Array.isArray(value)) return value.some((item) => holdsLong(item, depth + 1));
  for (const key in value) if (holdsLong((value as Record<string, unknown>)[key], depth + 1)) return true; // of JSON: own fields
  return false;
}

interface Offloading {
  readonly blobs: BlobStore;
  /** The free-form fields, which stay as they are. */
  readonly kept: ReadonlySet<string>;
}

/**
 * Replaces every long text of the typed fields by a blob reference; fields that may not be references are refused by the schema
 * after.
 */
async function offload(value: unknown, into: Offloading, path: string, depth: number): Promise<unknown> {
  if (typeof value === 'string') return isLong(value) ? into.blobs.put(Buffer.from(value, 'utf8'), TEXT_MEDIA) : value;
  if (typeof value !== 'object' || value === null || depth === LOOK_DEPTH || into.kept.has(path)) return value;
  if (Array.isArray(value)) {
    // Arrays of the catalogue hold short items; walking them only when one is long keeps the common case free.
    return value.some((item) => typeof item === 'object' || isLong(item))
      ? Promise.all(value.map((item) => offload(item, into, pathIn(path, '*'), depth + 1)))
      : value;
  }
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const field = pathIn(path, key);
    const packedBytes = key === 'bytes' && 'dtype' in value && typeof item === 'string' && isLong(item);
    if (into.kept.has(field)) entries.push([key, item]);
    else entries.push([key, packedBytes ? await putBytes(item, into.blobs) : await offload(item, into, field, depth + 1)]);
  }
  return Object.fromEntries(entries);
}

function putBytes(base64: string, blobs: BlobStore): Promise<BlobRef> {
  return blobs.put(Buffer.from(base64, 'base64'), BYTES_MEDIA);
}

/** Whether a value is a text that leaves its event. */
export function isLong(value: unknown): boolean {
  // A UTF-16 unit is at most three UTF-8 bytes: only texts near the limit are measured.
  return typeof value === 'string' && value.length * 3 > INLINE_LIMIT && Buffer.byteLength(value) > INLINE_LIMIT;
}
