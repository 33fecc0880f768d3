import { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { canonicalJson } from './canonical-json.ts';
import { catalogue, type EventType, isEventType } from './catalogue.ts';
import { type Envelope, envelopeFields, type Sealed } from './envelope.ts';
import { fillForgotten, joinPayload, type Payload, splitPayload } from './payload.ts';
import { mayDifferRecorded, recordedForm } from './recorded-form.ts';
import { SealBroken } from './seal.ts';
import { streamOf } from './stream-of.ts';
import { upcast } from './upcasters.ts';
import { wellFormed } from './well-formed.ts';

/** A refusal in words for people: the path of the field, what is wrong with it, and what to do. */
export interface Refusal {
  readonly code: 'malformed' | 'unknown-type' | 'unknown-version' | 'invalid';
  readonly path: string;
  readonly message: string;
}
export interface Refused {
  readonly kind: 'refused';
  readonly refusal: Refusal;
}
export type Decoded = { readonly kind: 'event'; readonly event: Envelope } | Refused;

/** Writes an envelope as UTF-8 JSON, the form of every record in the log. */
export function encode(event: Envelope): Buffer {
  return Buffer.from(JSON.stringify(event), 'utf8');
}

/** Returns what was sealed in an event, or *forgotten* where the key is destroyed. */
export type Unseal = (sealed: Sealed, eventId: string) => Payload | 'forgotten';

/**
 * Reads a record of the log. Unknown bytes become a typed event of the current version or a refusal with its reason.
 * @param unseal opens what is sealed; left out, placeholders stay in the place of payload, as in a forgotten event.
 * @throws what `unseal` throws, and nothing else.
 */
export function decode(bytes: Uint8Array, unseal: Unseal = leaveSealed): Decoded {
  const text = textOf(bytes);
  return typeof text === 'string' ? decodeText(text, unseal) : text;
}

/** Returns the text of a record, without the mark of its byte order; a refusal of what is no UTF-8. */
export function textOf(bytes: Uint8Array): string | Refused {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    return notJson(error);
  }
}

/** As `decode`, of a text that `textOf` returned. */
export function decodeText(text: string, unseal: Unseal = leaveSealed): Decoded {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return notJson(error);
  }
  const decoded = openAndParse(value, unseal);
  if (decoded.kind === 'refused' || !text.includes('\\u')) return decoded;
  // Only an escape can bring a NUL or half a surrogate pair through UTF-8. Our endpoints repair them; a producer that wrote past
  // the endpoints did not. Looked for in what fits the schema, whose depth is bounded: the look is recursive, and the bytes may
  // be nested without end.
  const [broken] = wellFormed(decoded.event).repaired;
  if (broken === undefined) return decoded;
  return refuse('invalid', broken, 'holds NUL or half a surrogate pair, which no store can keep; replace it by U+FFFD');
}

function notJson(error: unknown): Refused {
  return refuse('malformed', '', `is not UTF-8 JSON: ${error instanceof Error ? error.message : String(error)}`);
}

const leaveSealed: Unseal = () => 'forgotten';

function openAndParse(value: unknown, unseal: Unseal): Decoded {
  try {
    return parseEnvelope(openValue(value, unseal));
  } catch (error) {
    if (error instanceof SealBroken) return refuse('invalid', 'sealed', error.message);
    throw error;
  }
}

/**
 * Puts the sealed payload of a parsed record back in its place, whatever the version of its shape; a forgotten event keeps
 * `sealed`, by which it is known.
 */
export function openValue(value: unknown, unseal: Unseal): unknown {
  if (typeof value !== 'object' || value === null || !('sealed' in value)) return value;
  const { sealed: given, ...event } = value as Record<string, unknown>;
  const { type, id } = event;
  if (!isSealed(given) || typeof type !== 'string' || !isEventType(type) || typeof id !== 'string') return value; // refused below
  const payload = unseal(given, id);
  if (payload === 'forgotten') return { ...event, sealed: given, data: fillForgotten(type, event.data) };
  return { ...event, data: joinPayload(type, event.data, payload) };
}

/** Not by its schema, which takes as long as to open it: what is no base64 fails to open, and a forgotten one is parsed. */
function isSealed(value: unknown): value is Sealed {
  if (typeof value !== 'object' || value === null) return false;
  const { key, iv, text } = value as Record<string, unknown>;
  return typeof key === 'string' && typeof iv === 'string' && typeof text === 'string';
}

/** Checks a parsed JSON value against the schema of its type and version, and brings an old version up to the current one. */
export function parseEnvelope(value: unknown): Decoded {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('malformed', '', 'must be an event: a JSON object with id, type, schemaVersion, stream, …, data');
  }
  const type = 'type' in value ? value.type : undefined;
  if (typeof type !== 'string') return refuse('malformed', 'type', 'must name the event type; `espalier schemas` lists them');
  if (!isEventType(type))
    return refuse(
      'unknown-type',
      'type',
      `${JSON.stringify(cutText(type, 80))} is not in the catalogue; \`espalier schemas\` lists it`,
    );
  const version = 'schemaVersion' in value ? value.schemaVersion : undefined;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    return refuse('malformed', 'schemaVersion', 'must be an integer from 1');
  }
  const current = catalogue[type].version;
  if (version > current) {
    return refuse(
      'unknown-version',
      'schemaVersion',
      `${type} is known up to version ${current}, not ${version}; upgrade this program to read it`,
    );
  }
  const upcasted = version < current ? upcast(type, version, value) : value;
  const parsed = schemaOf(type).safeParse(upcasted);
  if (!parsed.success) return firstIssue(parsed.error);
  const event = parsed.data as Envelope; // the schema of `type` is the proof, and gives its fields their order
  const stream = streamOf(type, event.data);
  if (event.stream !== stream)
    return refuse('invalid', 'stream', `must be ${stream}, from data.${catalogue[type].stream} of a ${type}`);
  return { kind: 'event', event };
}

const schemas = new Map<EventType, z.ZodObject>();

/** Returns the schema of a whole event (envelope and data) of a type in its current version. */
export function schemaOf(type: EventType): z.ZodObject {
  let schema = schemas.get(type);
  if (!schema) {
    const { version, data } = catalogue[type];
    schema = z.strictObject({
      ...envelopeFields,
      type: z.literal(type).describe('Type of the event.'),
      schemaVersion: z.literal(version).describe(envelopeFields.schemaVersion.description ?? ''),
      data,
    });
    schemas.set(type, schema);
  }
  return schema;
}

/**
 * Returns the digest of what an event says (type, version, stream, data), not of when and by which producer. Two appends of one
 * id must agree in it; keys are sorted, and what is recorded otherwise than it is sent counts as it is recorded. How long a step took, which
 * call to a model server gave its response, and what a cache held are measurements: a resumed producer that takes the same step
 * again measures again.
 */
export function contentHash({ type, schemaVersion, stream, data }: Envelope): string {
  const { timings: _timings, call: _call, cache: _cache, ...said } = data as Readonly<Record<string, unknown>>; // absent in most types
  const text = canonicalJson(said);
  const recorded = mayDifferRecorded(text) ? canonicalJson(recordedForm(type, said).data) : text;
  return sha256Hex(`${canonicalJson([type, schemaVersion, stream])}${recorded}`);
}

/**
 * Returns whether two events say the same. Where the payload of one is forgotten it is compared with nothing: what is left of
 * both decides.
 */
export function sameContent(a: Envelope, b: Envelope): boolean {
  if (a.sealed || b.sealed) return clearHash(a) === clearHash(b);
  return contentHash(a) === contentHash(b);
}

/** The content hash with placeholders in the place of payload. */
export function clearHash(event: Envelope): string {
  const whole = event.sealed ? event.data : (splitPayload(event.type, event.data)?.data ?? event.data);
  return contentHash({ ...event, data: fillForgotten(event.type, whole) } as Envelope); // of the same type, as the schema has it
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function refuse(code: Refusal['code'], path: string, message: string): Refused {
  return { kind: 'refused', refusal: { code, path, message } };
}

function firstIssue(error: z.ZodError): Decoded {
  let issue = error.issues[0];
  let path: PropertyKey[] = issue ? [...issue.path] : [];
  // A union reports one issue with a list per member; the member that got furthest is the one the producer meant.
  while (issue?.code === 'invalid_union') {
    const inner = issue.errors.flat().sort((a, b) => b.path.length - a.path.length)[0];
    if (!inner) break;
    path = [...path, ...inner.path];
    issue = inner as typeof issue;
  }
  return refuse('invalid', path.map(String).join('.'), issue?.message ?? 'does not fit the schema');
}
