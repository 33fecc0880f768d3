import type { BlobStore } from '../blobs/blob-store.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { catalogue } from '../events/catalogue.ts';
import { encode, parseEnvelope } from '../events/codec.ts';
import { type Envelope, type Stamp, stampOf } from '../events/envelope.ts';
import { freeFormFields, pathIn } from '../events/free-form.ts';
import type { BlobRef } from '../events/schemas/values.ts';
import { wellFormed } from '../events/well-formed.ts';
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
 * Makes events ready for the log: stamped with who appends them (whatever they said of it before), checked against their schema,
 * text made well-formed (the event lists where), payloads over 64 KiB put into the blob store (free-form JSON stays whole). Blobs
 * are durable before the events that name them are appended. @param stamp `as-stamped` for events that an appender of this program
 * has stamped itself, perhaps for several projects.
 * @throws EventRefused for an event that does not fit its schema.
 */
export async function prepareEvents(
  events: readonly Envelope[],
  blobs: BlobStore,
  stamp: Stamp | 'as-stamped',
): Promise<readonly PreparedRecord[]> {
  const records: PreparedRecord[] = [];
  for (const event of events) {
    const { principal, project } = stamp === 'as-stamped' ? stampOf(event) : stamp;
    records.push(await prepareParsed(parsed({ ...event, principal, project }), blobs));
  }
  return records;
}

/** Makes a stamped event ready that `parseEnvelope` returned. @throws EventRefused where its repaired data do not fit its schema. */
export async function prepareParsed(event: Envelope, blobs: BlobStore): Promise<PreparedRecord> {
  const value = encode(event);
  // Only an escape can stand for a character that no store keeps, and only a long record can hold a long text.
  if (value.byteLength <= INLINE_LIMIT && !value.includes('\\u')) return recordOf(event, value);
  const ready = await repairAndOffload(event, blobs);
  return recordOf(ready, encode(ready));
}

export class EventRefused extends Error {
  override readonly name = 'EventRefused';
  readonly path: string;
  constructor(type: string, path: string, message: string) {
    super(`${type}: ${path === '' ? 'the event' : path} ${message}`);
    this.path = path;
  }
}

function parsed(event: Envelope): Envelope {
  const decoded = parseEnvelope(event);
  if (decoded.kind === 'refused') throw new EventRefused(event.type, decoded.refusal.path, decoded.refusal.message);
  return decoded.event;
}

async function repairAndOffload(event: Envelope, blobs: BlobStore): Promise<Envelope> {
  const { value, repaired } = wellFormed(event.data);
  const data = await offload(value, { blobs, kept: freeFormFields(event.type) }, '');
  const paths = [...(event.repaired ?? []), ...repaired.map((path) => cutText(`data.${path}`, PATH_LIMIT))];
  return parsed({ ...event, data, ...(paths.length > 0 && { repaired: paths.slice(0, REPAIRS_LISTED) }) } as Envelope);
}

function recordOf(event: Envelope, value: Buffer): PreparedRecord {
  const { epoch, correlationId: runId } = event;
  const { topic } = catalogue[event.type];
  const record = { topic, key: event.stream, value, event };
  return epoch === undefined ? record : { ...record, fence: { runId, epoch } };
}

interface Offloading {
  readonly blobs: BlobStore;
  /** The free-form fields, which stay as they are. */
  readonly kept: ReadonlySet<string>;
}

/** Replaces every long text of the typed fields by a blob reference; the schema refuses it where a field may hold none. */
async function offload(value: unknown, into: Offloading, path: string): Promise<unknown> {
  if (typeof value === 'string') return isLong(value) ? into.blobs.put(Buffer.from(value, 'utf8'), TEXT_MEDIA) : value;
  if (typeof value !== 'object' || value === null || into.kept.has(path)) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => offload(item, into, pathIn(path, '*'))));
  const entries: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    const isPackedBytes = key === 'bytes' && 'dtype' in value && typeof item === 'string' && isLong(item);
    entries.push([key, isPackedBytes ? await putBytes(item, into.blobs) : await offload(item, into, pathIn(path, key))]);
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
