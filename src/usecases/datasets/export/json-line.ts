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

/** Makes every number of a value one with a point: of measurements, or of parameters that are no counts. */
export function floats(value: unknown): unknown {
  if (typeof value === 'number') return float(value);
  if (Array.isArray(value)) return value.map(floats);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, floats(each)]));
}

/** Writes a row as a line of JSON: as `JSON.stringify` does, floats with a point. */
export function jsonLine(row: object): string {
  return `${textOf(row)}\n`;
}

function textOf(value: unknown): string {
  if (value instanceof Float) return floatText(value.value);
  if (Array.isArray(value)) return `[${value.map((each) => (each === undefined ? 'null' : textOf(each))).join(',')}]`;
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value);
  const fields = Object.entries(value).flatMap(([name, each]) =>
    each === undefined ? [] : `${JSON.stringify(name)}:${textOf(each)}`,
  );
  return `{${fields.join(',')}}`;
}

function floatText(value: number): string {
  const text = JSON.stringify(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
