import { isUuid } from '../domain/ids.ts';

/** A column that orders. `?` marks the types that may be null; only the first key of an ordering may. */
export interface Key {
  /** Qualified with its table: `rollouts.finished_at`. */
  readonly column: string;
  readonly type: 'uuid' | 'text' | 'instant' | 'instant?' | 'float' | 'float?' | 'integer' | 'integer?';
}
export type KeyValue = string | null;

/**
 * A total order: all keys in one direction, the last one unique. `name` distinguishes the orderings of one list in their cursors.
 */
export interface Ordering {
  readonly name: string;
  readonly direction: 'asc' | 'desc';
  /** `last` in both directions; else last in ascending order and first in descending order, as Postgres has it. */
  readonly nulls?: 'last';
  readonly keys: readonly Key[];
}

/** A cursor that this list did not give. The message says what to do. */
export class InvalidCursor extends RangeError {
  override readonly name = 'InvalidCursor';
}

const CURSOR_LIMIT = 2_000; // characters; the longest real one holds a name of 200 and an id

/** Writes the place of a row in an ordering as an opaque text. */
export function cursorOf(ordering: Ordering, values: readonly KeyValue[]): string {
  return Buffer.from(JSON.stringify([ordering.name, ...values])).toString('base64url');
}

/** Reads a cursor back. @throws InvalidCursor when it is damaged or belongs to another ordering. */
export function parseCursor(cursor: string, ordering: Ordering): readonly KeyValue[] {
  const [name, ...values] = parts(cursor);
  if (name !== ordering.name) {
    throw new InvalidCursor(
      `the cursor belongs to the ordering ${name}, this list is in the ordering ${ordering.name}; page on with the ordering it came from, or leave the cursor out`,
    );
  }
  if (values.length !== ordering.keys.length) throw damaged();
  ordering.keys.forEach((key, i) => {
    if (!fits(key.type, values[i] ?? null)) throw damaged();
  });
  return values;
}

/**
 * Compares two places in an ordering, as the database does: the first one comes first where the result is below 0.
 * @throws RangeError for a text: its order is that of the database's collation.
 */
export function compareKeys(a: readonly KeyValue[], b: readonly KeyValue[], { keys, direction, nulls }: Ordering): number {
  for (const [i, { type }] of keys.entries()) {
    const [left = null, right = null] = [a[i], b[i]];
    const compared = compareValues(left, right, type);
    const ascends = direction === 'asc' || (nulls === 'last' && (left === null || right === null));
    if (compared !== 0) return ascends ? compared : -compared;
  }
  return 0;
}

function compareValues(a: KeyValue, b: KeyValue, type: Key['type']): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  switch (type) {
    case 'uuid':
    case 'instant':
    case 'instant?':
      return a < b ? -1 : 1;
    case 'float':
    case 'float?':
    case 'integer':
    case 'integer?':
      return Math.sign(Number(a) - Number(b));
    case 'text':
      throw new RangeError('texts are compared by the database');
  }
}

function parts(cursor: string): readonly [string, ...KeyValue[]] {
  if (cursor.length > CURSOR_LIMIT) throw damaged();
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw damaged();
  }
  if (!Array.isArray(value) || typeof value[0] !== 'string' || !/^[\w./-]{1,80}$/.test(value[0])) throw damaged();
  if (!value.every((part) => part === null || typeof part === 'string')) throw damaged();
  return value as [string, ...KeyValue[]]; // the two lines above are the proof
}

function fits(type: Key['type'], value: KeyValue): boolean {
  if (value === null) return type.endsWith('?');
  switch (type) {
    case 'uuid':
      return isUuid(value);
    case 'text':
      return !value.includes('\0') && value.isWellFormed();
    case 'instant':
    case 'instant?':
      return isInstant(value);
    case 'float':
    case 'float?':
      return /^-?\d+(\.\d+)?(e[+-]?\d{1,3})?$/.test(value) && Number.isFinite(Number(value));
    case 'integer':
    case 'integer?':
      return /^-?\d{1,16}$/.test(value);
  }
}

/** Postgres refuses the 30th of February, `Date` moves it to March: only what comes back unchanged is a day. */
function isInstant(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value) || value.startsWith('0000')) return false;
  const date = new Date(`${value.slice(0, 23)}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === value.slice(0, 19);
}

function damaged(): InvalidCursor {
  return new InvalidCursor('the cursor is damaged; pass one that this list gave, as it is, or leave it out');
}
