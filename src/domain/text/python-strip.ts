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
  // \s and Python's white space differ in these five characters alone.
  return text.split(/(?:(?!\ufeff)\s|[\x1c-\x1f\x85])+/).filter((word) => word !== '');
}

function isPythonSpace(unit: number): boolean {
  if (unit === 0xfeff) return false;
  return (unit >= 0x1c && unit <= 0x1f) || unit === 0x85 || /\s/.test(String.fromCharCode(unit));
}
