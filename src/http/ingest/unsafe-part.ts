import { cutText } from '../../domain/text/cut-text.ts';
export interface UnsafePart {
  readonly path: string;
  readonly message: string;
}

const DEPTH_LIMIT = 64; // events are some five deep; free-form configuration is what may go deeper

/**
 * Finds what JSON allows and an event may not hold, before anything recursive looks at it: nesting without end, and keys that would not
 * come back as they went in (`__proto__` sets a prototype when copied, half surrogates and NUL cannot be stored in a key).
 */
export function unsafePart(value: unknown, path = '', depth = 0): UnsafePart | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= DEPTH_LIMIT) return { path: cutText(path, 200), message: `is nested more than ${DEPTH_LIMIT} deep` };
  for (const [key, item] of Object.entries(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    if (key === '__proto__') return { path: cutText(path, 200), message: 'has a key __proto__, which cannot be kept' };
    if (!key.isWellFormed() || key.includes('\0'))
      return { path: cutText(path, 200), message: 'has a key with a half surrogate or NUL, which cannot be stored' };
    const inner = unsafePart(item, here, depth + 1);
    if (inner) return inner;
  }
  return undefined;
}
