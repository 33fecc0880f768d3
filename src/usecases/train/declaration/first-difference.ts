import { cutText } from '../../../domain/text/cut-text.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';

/** Names the first field in which two JSON objects differ, with the value of the first one; null where they are the same. */
export function firstDifference(one: object, other: object): string | null {
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  for (const field of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()) {
    const [x, y] = [a[field], b[field]];
    if (canonicalJson([x ?? null]) === canonicalJson([y ?? null])) continue;
    if (!isObject(x) || !isObject(y)) return `${field} (${x === undefined ? 'none' : cutText(canonicalJson(x), 200)})`;
    const within = firstDifference(x, y);
    if (within !== null) return `${field}.${within}`;
  }
  return null;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
