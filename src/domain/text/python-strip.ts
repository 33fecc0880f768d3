/** Strips white space as Python's `str.strip()` does: U+001C to U+001F and U+0085 count, U+FEFF does not. */
export function pythonStrip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isPythonSpace(text.charCodeAt(start))) start++;
  while (end > start && isPythonSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Splits at runs of white space as Python's `str.split()` does; no word is empty. */
export function pythonWords(text: string): string[] {
  const words: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !isPythonSpace(text.charCodeAt(at))) continue;
    if (at > start) words.push(text.slice(start, at));
    start = at + 1;
  }
  return words;
}

/** One character of Python's white space, to be part of a pattern. */
export const PYTHON_SPACE = String.raw`(?:(?!\ufeff)[\s\x1c-\x1f\x85])`;
const ONE_SPACE = new RegExp(`^${PYTHON_SPACE}$`);

function isPythonSpace(unit: number): boolean {
  return ONE_SPACE.test(String.fromCharCode(unit));
}

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

/** Returns the last `count` code points of a text, as Python's `text[-count:]` does. */
export function lastCodePoints(text: string, count: number): string {
  if (text.length <= count) return text;
  let at = text.length;
  for (let left = count; left > 0 && at > 0; left--) {
    const isPair = at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    at -= isPair ? 2 : 1;
  }
  return text.slice(at);
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
