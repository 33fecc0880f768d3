import { pythonStrip } from './python-strip.ts';

const INFORMATION_SEPARATORS = ['\u001c', '\u001d', '\u001e', '\u001f'];

/**
 * Reads a text as Python's `float(text)` does; null where that raises ValueError. So white space around it is ignored (Python's,
 * not JavaScript's, but here without U+001C to U+001F, which its `strip` takes), `1_0` is 10, `1e0`, `.5` and `5.` are numbers,
 * `inf`, `Infinity` and `nan` are taken in any case and with a sign, and so are the decimal digits of every script; `1,5`,
 * `0x10`, `1__0`, `_1` and the empty text are not numbers. Seen against CPython 3.11.
 */
export function parsePythonFloat(text: string): number | null {
  if (INFORMATION_SEPARATORS.some((separator) => text.includes(separator))) return null;
  const ascii = pythonStrip(text).replace(/\p{Nd}/gu, digitOf);
  const word = /^([+-]?)(inf|infinity|nan)$/i.exec(ascii);
  if (word) return word[2]?.toLowerCase() === 'nan' ? Number.NaN : word[1] === '-' ? -Infinity : Infinity;
  // An underscore is allowed between two digits only. What is left is a decimal, which both languages round to the nearest
  // double.
  const bare = ascii.replace(/(?<=[0-9])_(?=[0-9])/g, '');
  return /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i.test(bare) ? Number(bare) : null;
}

/** Unicode keeps the digits of a script together, from zero to nine, so a digit's value is its place in its run. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0; // one matched character is never empty
  if (code <= 0x39) return character;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}
