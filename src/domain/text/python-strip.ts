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
