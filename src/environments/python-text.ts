/**
 * Text as Python sees it. The published environments are Python programs and put its `repr` into
 * what an agent reads, so this follows CPython where JavaScript differs.
 */

/**
 * Writes a text as `repr(str)` does: single quotes unless only double ones avoid an escape; what cannot be printed is escaped.
 */
export function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let written = '';
  for (const character of text) written += escapeOf(character, quote);
  return quote + written + quote;
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
