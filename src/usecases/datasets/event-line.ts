import { isEventType } from '../../events/catalogue.ts';
import { parseEnvelope, type Refusal } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import { streamOf } from '../../events/stream-of.ts';
import { type CarriedBlob, parseBlobLine } from './carried-blob.ts';

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

export type ParsedLine =
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
