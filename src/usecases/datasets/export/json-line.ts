/**
 * A number of a row that is no count: it is written with a point, since readers of JSON lines (pyarrow, `datasets`) take the type
 * of a column from the file they read first, and cannot add 0.33 to a column that began with 1.
 */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  /** What digests of rows are computed of: the number, as before. */
  toJSON(): number {
    return this.value;
  }
}

export function float(value: number): Float {
  return new Float(value);
}

/** A value that is written as the JSON that it was recorded as: its numbers do not pass through a double. */
export class RawJson {
  readonly text: string;

  /** @param text valid JSON. */
  constructor(text: string) {
    this.text = text.replaceAll(/[\r\n]+/g, ' '); // between its tokens: in a string they are escaped
  }

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Makes every number of a value one with a point: of measurements, or of parameters that are no counts. */
export function floats(value: unknown): unknown {
  if (typeof value === 'number') return float(value);
  if (Array.isArray(value)) return value.map(floats);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, floats(each)]));
}

/** Writes a row as a line of JSON: as `JSON.stringify` does, floats with a point. */
export function jsonLine(row: object): string {
  return `${jsonText(row)}\n`;
}

/** Writes a value as JSON, as lines hold it. */
export function jsonText(value: unknown): string {
  if (value instanceof Float) return floatText(value.value);
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((each) => (each === undefined ? 'null' : jsonText(each))).join(',')}]`;
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value);
  const fields = Object.entries(value).flatMap(([name, each]) =>
    each === undefined ? [] : `${JSON.stringify(name)}:${jsonText(each)}`,
  );
  return `{${fields.join(',')}}`;
}

function floatText(value: number): string {
  const text = JSON.stringify(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
