import { cutText } from '../../domain/text/cut-text.ts';
export interface UnsafePart {
  readonly path: string;
  readonly message: string;
}

const DEPTH_LIMIT = 64; // events are some five deep; free-form configuration is what may go deeper

/**
 * Finds what JSON allows and a request may not hold, before anything recursive looks at it: nesting without end, and keys that
 * would not come back as they went in (half surrogates and NUL are replaced on append, `__proto__` is lost where a reader copies
 * objects by assignment): who sends over HTTP is asked for another name.
 */
export function unsafePart(value: unknown): UnsafePart | undefined {
  return isSafe(value, 0) ? undefined : findUnsafe(value, '', 0);
}

/** Without the path, which few values need and which takes most of the time. */
function isSafe(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= DEPTH_LIMIT) return false;
  if (Array.isArray(value)) return value.every((item) => isSafe(item, depth + 1));
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    if (key === '__proto__' || !key.isWellFormed() || key.includes('\0') || !isSafe(object[key], depth + 1)) return false;
  }
  return true;
}

function findUnsafe(value: unknown, path: string, depth: number): UnsafePart | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= DEPTH_LIMIT) return { path: cutText(path, 200), message: `is nested more than ${DEPTH_LIMIT} deep` };
  for (const [key, item] of Object.entries(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    if (key === '__proto__')
      return {
        path: cutText(path, 200),
        message: 'has a key __proto__, which programs that copy objects lose; give it another name',
      };
    if (!key.isWellFormed() || key.includes('\0'))
      return { path: cutText(path, 200), message: 'has a key with a half surrogate or NUL, which cannot be stored' };
    const inner = findUnsafe(item, here, depth + 1);
    if (inner) return inner;
  }
  return undefined;
}
