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
  const found = find(value, 0);
  return found && { path: cutText(found.path.reverse().join('.'), 200), message: found.message };
}

/** Returns the path from its end: it is made on the way back, since few values need it. */
function find(value: unknown, depth: number): { readonly path: string[]; readonly message: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= DEPTH_LIMIT) return { path: [], message: `is nested more than ${DEPTH_LIMIT} deep` };
  for (const key of Object.keys(value)) {
    if (key === '__proto__')
      return { path: [], message: 'has a key __proto__, which programs that copy objects lose; give it another name' };
    if (!key.isWellFormed() || key.includes('\0'))
      return { path: [], message: 'has a key with a half surrogate or NUL, which cannot be stored' };
    const found = find((value as Record<string, unknown>)[key], depth + 1); // one of its keys
    if (found) {
      found.path.push(key);
      return found;
    }
  }
  return undefined;
}
