/**
 * Returns what two arguments of a call of a tool are compared by: programs write JSON again, with other blanks and another order
 * of fields, and an empty text for an empty object.
 */
export function argumentsKey(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    return JSON.stringify(sorted(JSON.parse(text)));
  } catch {
    return text.trim(); // what the model wrote is no JSON
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, each]) => [name, sorted(each)]),
  );
}
