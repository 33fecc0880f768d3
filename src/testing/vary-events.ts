import { sha256Hex } from '../digest/sha256.ts';
import { catalogue } from '../events/catalogue.ts';
import { decode, encode } from '../events/codec.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Envelope } from '../events/envelope.ts';
import { streamOf } from '../events/stream-of.ts';

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const DIGEST = /\b([0-9a-f])\1{63}\b/g; // those that are made up
const DIGITS = [...'0123456789abcdef'];

/** Returns an event under ids that no other world has; what the events of a world refer to is in `payloadsOf` it. */
export function inWorld(event: Envelope, world: string): Envelope {
  const text = JSON.stringify(event)
    .replace(UUID, (id) => derivedId('test', world, id))
    .replace(DIGEST, (digest) => sha256Hex(`${world} ${digest}`));
  const own = JSON.parse(text) as Envelope; // the same with other ids
  return { ...own, stream: streamOf(own.type, own.data) ?? own.stream };
}

/** The payloads that the events of a world refer to. */
export function payloadsOf(world: string): readonly Buffer[] {
  return DIGITS.map((digit) => Buffer.from(`${world} ${digit.repeat(64)}`));
}

export type Path = readonly (string | number)[];

/** Returns the paths of all values within a value. */
export function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  const below = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const own = path.length === 0 ? [] : [path];
  return [...own, ...below.flatMap(([key, item]) => pathsIn(item, [...path, Array.isArray(value) ? Number(key) : key]))];
}

/** Returns an event with the value at a path of its data replaced; null where its schema does not take that. */
export function withValue(event: Envelope, path: Path, replace: (old: unknown) => unknown): Envelope | null {
  const data = put(event.data, path, replace) as Envelope['data'];
  const varied = { ...event, data, stream: streamOf(event.type, data) ?? event.stream } as Envelope;
  const decoded = decode(encode(varied));
  return decoded.kind === 'event' ? decoded.event : null;
}

function put(value: unknown, [key, ...rest]: Path, replace: (old: unknown) => unknown): unknown {
  if (key === undefined) return replace(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[key] = put(copy[key], rest, replace);
  return copy;
}

const VALUES: readonly ((old: unknown) => unknown)[] = [
  () => null,
  (old) => (typeof old === 'string' ? '' : typeof old === 'number' ? 0 : Array.isArray(old) ? [] : {}),
  (old) => (typeof old === 'string' ? `${old}${'é'.repeat(9_000)}` : typeof old === 'number' ? -1 : { old }),
  (old) => (Number.isInteger(old) ? Number.MAX_SAFE_INTEGER : 1.7e308),
];

export interface Varied {
  readonly event: Envelope;
  readonly path: Path;
}

/** An event with one value of it replaced, or a field that it lacks given one, in all ways that its schema takes. */
export function variationsOf(event: Envelope): readonly Varied[] {
  const lacking = Object.keys(catalogue[event.type].data.shape).filter((field) => !Object.hasOwn(event.data, field));
  return [...pathsIn(event.data), ...lacking.map((field) => [field])].flatMap((path) =>
    VALUES.flatMap((value) => {
      const varied = withValue(event, path, value);
      return varied && varied.stream === event.stream ? [{ event: varied, path }] : [];
    }),
  );
}
