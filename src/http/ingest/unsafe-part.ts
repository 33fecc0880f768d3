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
export function unsafePart(value: unknown, path = '', depth = 0): UnsafePart | undefined {
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
    const inner = unsafePart(item, here, depth + 1);
    if (inner) return inner;
  }
  return undefined;
}
