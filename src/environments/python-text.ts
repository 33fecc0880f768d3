/**
 * Text as Python sees it. The published environments are Python programs and put its `repr` and its idea of white space into
 * what an agent reads, so these follow CPython where JavaScript differs.
 */

/** Strips white space as `str.strip()` does: U+001C to U+001F and U+0085 count, U+FEFF does not. */
export function pythonStrip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isPythonSpace(text.charCodeAt(start))) start++;
  while (end > start && isPythonSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Writes a text as `repr(str)` does: single quotes unless only double ones avoid an escape; what cannot be printed is escaped. */
export function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let written = '';
  for (const character of text) written += escapeOf(character, quote);
  return quote + written + quote;
}

function isPythonSpace(unit: number): boolean {
  if (unit === 0xfeff) return false;
  return (unit >= 0x1c && unit <= 0x1f) || unit === 0x85 || /\s/.test(String.fromCharCode(unit));
}

function escapeOf(character: string, quote: string): string {
  if (character === '\\' || character === quote) return `\\${character}`;
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  if (character === ' ' || !/[\p{C}\p{Z}]/u.test(character)) return character;
  const code = character.codePointAt(0) ?? 0; // a string's iterator yields no empty character
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
