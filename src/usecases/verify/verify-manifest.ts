import { canonicalJson } from '../../events/canonical-json.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { manifestOf } from '../datasets/release/release-manifest.ts';

/**
 * Names the fields of a manifest that say something else than the release does (`counts.lines`); `text` when only its blanks,
 * escapes or repeated keys are not as a manifest is written: then no byte of it can change unseen. Empty when the manifest is as
 * released.
 */
export function fieldsOffRelease(text: string, release: DataOf<'DatasetReleased'>): readonly string[] {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return ['it is no JSON'];
  }
  if (!isObject(said)) return ['it is no JSON object'];
  const off = [...fieldsOff(said, manifestOf(release), '')];
  if (off.length === 0 && `${JSON.stringify(said, null, 2)}\n` !== text) return ['text'];
  return off;
}

/** Walks two objects down to the fields in which they differ; lists are compared whole. */
function* fieldsOff(said: object, released: object, path: string): Iterable<string> {
  const [a, b] = [new Map<string, unknown>(Object.entries(said)), new Map<string, unknown>(Object.entries(released))];
  for (const field of new Set([...b.keys(), ...a.keys()])) {
    const [x, y] = [a.get(field), b.get(field)];
    const name = `${path}${field}`;
    if (isObject(x) && isObject(y)) yield* fieldsOff(x, y, `${name}.`);
    else if (x === undefined || y === undefined ? x !== y : canonicalJson(x) !== canonicalJson(y)) yield name;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
