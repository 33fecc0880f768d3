/** What `str.split()` of Python takes for blank: not quite what `\s` is. */
const BLANK = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORD = new RegExp(`[^${BLANK}]+`, 'g');

/** Counts words as `len(text.split())` does. */
export function pythonWordCount(text: string): number {
  return text.match(WORD)?.length ?? 0;
}

/**
 * Writes a value on one line as `json.dumps(value, ensure_ascii=False)` does: a blank behind every comma and colon, keys in their
 * order, other scripts as they are. @throws TypeError for a number, which Python may write in another way (`1.0`), and for what
 * JSON does not have.
 */
export function pythonJson(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value); // the same escapes
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} is not written as Python writes it`);
  const fields = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${pythonJson(each)}`);
  return `{${fields.join(', ')}}`;
}
