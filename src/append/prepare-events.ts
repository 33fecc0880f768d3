import type { BlobStore } from '../blobs/blob-store.ts';
import { catalogue } from '../events/catalogue.ts';
import { encode, parseEnvelope } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import type { BlobRef } from '../events/schemas/values.ts';
import { LOOK_DEPTH, wellFormed } from '../events/well-formed.ts';
import type { LogRecord } from '../log/event-log.ts';

/** Payloads above this many UTF-8 bytes leave the event for the blob store. */
export const INLINE_LIMIT = 64 * 1024;

/**
 * Makes events ready for the log: text made well-formed (the event lists where), payloads over 64 KiB put into the blob store, the result
 * checked against its schema once more. Blobs are durable before the events that name them are appended.
 * @throws EventRefused for an event that does not fit its schema.
 */
export async function prepareEvents(events: readonly Envelope[], blobs: BlobStore): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for (const event of events) records.push(await prepare(event, blobs));
  return records;
}

export class EventRefused extends Error {
  override readonly name = 'EventRefused';
  readonly path: string;
  constructor(type: string, path: string, message: string) {
    super(`${type}: ${path === '' ? 'the event' : path} ${message}`);
    this.path = path;
  }
}

async function prepare(event: Envelope, blobs: BlobStore): Promise<LogRecord> {
  const repair = wellFormed(event.data);
  const data = await offload(repair.value, blobs);
  const paths = [...(event.repaired ?? []), ...repair.repaired.map((path) => `data.${path}`)];
  const parsed = parseEnvelope({ ...event, data, ...(paths.length > 0 ? { repaired: paths } : {}) });
  if (parsed.kind === 'refused') throw new EventRefused(event.type, parsed.refusal.path, parsed.refusal.message);
  return { topic: catalogue[event.type].topic, key: event.stream, value: encode(parsed.event) };
}

/** Replaces every long string inside a value by a blob reference; fields that may not be references are refused by the schema after. */
async function offload(value: unknown, blobs: BlobStore, depth = 0): Promise<unknown> {
  if (typeof value === 'string')
    return isLong(value) ? blobs.put(Buffer.from(value, 'utf8'), 'text/plain; charset=utf-8') : value;
  if (typeof value !== 'object' || value === null || depth === LOOK_DEPTH) return value;
  if (Array.isArray(value)) {
    // Arrays of the catalogue hold short items; walking them only when one is long keeps the common case free.
    return value.some((item) => typeof item === 'object' || isLong(item))
      ? Promise.all(value.map((item) => offload(item, blobs, depth + 1)))
      : value;
  }
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const packedBytes = key === 'bytes' && 'dtype' in value && typeof item === 'string' && isLong(item);
    copy[key] = packedBytes ? await putBytes(item, blobs) : await offload(item, blobs, depth + 1);
  }
  return copy;
}

function putBytes(base64: string, blobs: BlobStore): Promise<BlobRef> {
  return blobs.put(Buffer.from(base64, 'base64'), 'application/octet-stream');
}

function isLong(value: unknown): boolean {
  // A UTF-16 unit is at most three UTF-8 bytes: only texts near the limit are measured.
  return typeof value === 'string' && value.length * 3 > INLINE_LIMIT && Buffer.byteLength(value) > INLINE_LIMIT;
}
