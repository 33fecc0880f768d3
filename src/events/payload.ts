import type { EventType } from './catalogue.ts';
import { payloadFields } from './payload-fields.ts';

/** What every reader sees in place of a text whose key is destroyed. */
export const FORGOTTEN = '[forgotten]';

/** Replies of a search are gzip of a JSON list: this one is empty. The bytes are fixed, so that every fold yields the same. */
const NO_REPLIES = { dtype: 'uint8', length: 22, bytes: 'H4sIAAAAAAAAA4uOBQApu0wNAgAAAA==' } as const;

/** Payload by its place in the data: `response`, `blocks.0`. */
export type Payload = Readonly<Record<string, unknown>>;

export interface Split {
  /** The data with a placeholder at every payload, which fits the schema as well. */
  readonly data: unknown;
  readonly payload: Payload;
  /** Names of the blobs that the payload refers to. */
  readonly blobs: readonly string[];
}

/** Takes the payload out of the data of an event; undefined where it holds none. Empty texts and lists stay: they say nothing. */
export function splitPayload(type: EventType, data: unknown): Split | undefined {
  const payload: Record<string, unknown> = {};
  const blobs: string[] = [];
  let rest = data;
  for (const field of pathsOf(type))
    rest = replaceAt(rest, field, 0, '', (value, place) => {
      const placeholder = placeholderOf(value, place);
      if (placeholder === undefined) return value;
      payload[place] = value;
      const name = blobOf(value);
      if (name !== undefined) blobs.push(name);
      return placeholder;
    });
  return rest === data ? undefined : { data: rest, payload, blobs };
}

/** Puts payload back into the data that it was taken out of. */
export function joinPayload(type: EventType, data: unknown, payload: Payload): unknown {
  let whole = data;
  for (const field of pathsOf(type))
    whole = replaceAt(whole, field, 0, '', (value, place) => (Object.hasOwn(payload, place) ? payload[place] : value));
  return whole;
}

/**
 * Returns forgotten token ids to their length, as zeros: the placeholder of the record has none, to take no room. A forgotten
 * picture stays without a byte: zeros are no PNG.
 */
export function fillForgotten(type: EventType, data: unknown): unknown {
  let filled = data;
  for (const field of pathsOf(type))
    filled = replaceAt(filled, field, 0, '', (value) => {
      if (!isPacked(value) || value.bytes !== '' || value.length === 0 || field.at(-1) === 'png') return value;
      return { ...value, bytes: Buffer.alloc(value.length * (value.dtype === 'uint8' ? 1 : 4)).toString('base64') };
    });
  return filled;
}

const paths = new Map<EventType, readonly (readonly string[])[]>();

function pathsOf(type: EventType): readonly (readonly string[])[] {
  const found = paths.get(type) ?? payloadFields[type].map((field) => field.split('.'));
  paths.set(type, found);
  return found;
}

function placeholderOf(value: unknown, place: string): unknown {
  if (typeof value === 'string') return value === '' ? undefined : FORGOTTEN;
  if (Array.isArray(value)) return value.length === 0 ? undefined : [FORGOTTEN];
  if (isPacked(value)) return place === 'replies' ? NO_REPLIES : { dtype: value.dtype, length: value.length, bytes: '' };
  return typeof value === 'object' && value !== null ? FORGOTTEN : undefined; // a text in the blob store
}

function blobOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('blob' in value) return typeof value.blob === 'string' ? value.blob : undefined;
  return isPacked(value) ? blobOf(value.bytes) : undefined;
}

function isPacked(value: unknown): value is { readonly dtype: string; readonly length: number; readonly bytes: unknown } {
  return typeof value === 'object' && value !== null && 'dtype' in value && 'bytes' in value && 'length' in value;
}

/** Changes what lies at a path, copying only what leads there. Lists are walked at `*`; what is not there is left out. */
function replaceAt(
  value: unknown,
  path: readonly string[],
  depth: number,
  place: string,
  change: (value: unknown, place: string) => unknown,
): unknown {
  const key = path[depth];
  if (key === undefined) return change(value, place);
  if (typeof value !== 'object' || value === null) return value;
  const at = (name: string | number) => (place === '' ? `${name}` : `${place}.${name}`);
  if (key === '*') {
    if (!Array.isArray(value)) return value;
    let changed = false;
    const items = value.map((item, i) => {
      const next = replaceAt(item, path, depth + 1, at(i), change);
      changed ||= next !== item;
      return next;
    });
    return changed ? items : value;
  }
  if (!Object.hasOwn(value, key)) return value;
  const item = (value as Readonly<Record<string, unknown>>)[key]; // its own, as just seen
  const next = replaceAt(item, path, depth + 1, at(key), change);
  return next === item ? value : { ...value, [key]: next };
}
