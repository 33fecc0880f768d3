import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { camelCase, snakeCase } from './camel-case.ts';
import { copiedIn } from './copied-in.ts';
import { CopyText } from './copying-client.ts';
import type { Trx } from './database.ts';
import { sideBySide } from './side-by-side.ts';
import type { NewRow, Row, Table } from './table.ts';
import { isAhead } from './transaction-ahead.ts';
import { WrittenBytes } from './written-bytes.ts';

/**
 * Writes rows as a relation `r`: many rows in one parameter. Of the ways to insert in bulk inside a transaction,
 * `jsonb_to_recordset` was the fastest that needs no COPY (57 k rows/s against 43 k for unnest and 34 k for multi-row values;
 * 800-byte rows, two cores).
 * @param types property → type of its column, both literals of the code, never data.
 */
export function recordset(rows: readonly object[], types: Readonly<Record<string, string>>): RawBuilder<unknown> {
  const list = Object.entries(types).map(([name, type]) => `"${name}" ${type}`);
  const named = Object.keys(types).map((name) => `"${name}" as "${snakeCase(name)}"`);
  return sql`(
    select ${sql.raw(named.join(', '))} from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as j(${sql.raw(list.join(', '))})
  ) as r`;
}

/** Returns the types of some columns of a table, for `recordset`. */
export function typesOf<T extends Table>(
  { columns }: T,
  names: readonly (keyof T['columns'] & string)[],
): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, columns[name]?.type ?? '']));
}

const COPY_ROWS = 50; // below it the two more round trips of COPY cost what it saves
const AHEAD_ROWS = 4; // sent ahead it has none: 20 steps take half of the CPU of Postgres and two thirds of that of Node

/**
 * Inserts rows into a table, skipping those whose primary key is already there; a clash on any other constraint is an error,
 * since the row that it would skip is another fact. Many rows use COPY, which takes half the time of the statement but knows no
 * `on conflict`: when it meets a key that is there (rare: folds look up what they know), the statement does the work.
 * @throws the error of Postgres (`isKeyTaken`) when a row clashes on another constraint than the primary key.
 */
export async function insertRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  await insertAbsent(trx, table, rows);
}

/** Returns how many rows were written. */
async function insertAbsent<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<number> {
  if (rows.length === 0) return 0;
  // ahead, a savepoint would take back what others write meanwhile
  if (rows.length >= COPY_ROWS && !isAhead(trx) && (await copyRows(trx, table, rows))) return rows.length;
  const types = typesOf(table, namesOf(table, rows));
  const names = sql.raw(quoted(Object.keys(types)));
  const { numAffectedRows } = await sql`
    insert into ${sql.raw(table.name)} (${names}) select ${names} from ${recordset(rows, types)}
    on conflict (${sql.raw(quoted(table.key))}) do nothing`.execute(trx);
  return Number(numAffectedRows);
}

/**
 * As `insertRows`, of rows that are hardly ever there already: a transaction that sends ahead copies many of them, and fails
 * where one is there (`isKeyTaken`); all is folded again then in a transaction that does not.
 * @param isMissing whether a row is one that `insertMissing` is for. @throws as that does.
 */
export async function insertFresh<T extends Table>(
  trx: Trx,
  table: T,
  rows: readonly NewRow<T>[],
  isMissing: (row: NewRow<T>) => boolean = () => false,
): Promise<void> {
  if (rows.length >= AHEAD_ROWS && isAhead(trx)) return copyNew(trx, table, rows);
  const missing = rows.filter(isMissing);
  const others = missing.length === 0 ? rows : rows.filter((row) => !isMissing(row));
  await sideBySide(
    trx, // both are sent at once: the statements behind this one may read what it writes
    () => insertMissing(trx, table, missing),
    () => insertRows(trx, table, others),
  );
}

/**
 * As `insertFresh`, of rows whose keys this transaction looked up and did not find: one that is there after all was written by
 * another transaction meanwhile, and what was counted of the row here is wrong. @throws KeyTaken, or the error of Postgres
 * (`isKeyTaken` of both): folded again, the look-up finds it.
 */
export async function insertMissing<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  if (rows.length >= AHEAD_ROWS && isAhead(trx)) return copyNew(trx, table, rows);
  const written = await insertAbsent(trx, table, rows);
  if (written < rows.length) throw new KeyTaken(table.name, rows.length - written);
}

const UNIQUE_VIOLATION = '23505';

/** Keys that a look-up did not find were written by another transaction since. */
class KeyTaken extends Error {
  override readonly name = 'KeyTaken';
  readonly code = UNIQUE_VIOLATION;
  constructor(table: string, keys: number) {
    super(`another transaction wrote ${keys} of the keys of ${table} meanwhile`);
  }
}

/**
 * Inserts rows that are known to be new, by COPY. @throws the error of Postgres when a key is there, which ends the transaction.
 */
export async function copyNew<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  if (rows.length === 0) return;
  const types = typesOf(table, namesOf(table, rows));
  const copy = `copy ${table.name} (${quoted(Object.keys(types))}) from stdin`;
  const copied = copiedIn(rows, types);
  const [form, data] = copied ? [' (format binary)', copied] : ['', new CopyText(copyTextOf(rows, types))];
  await trx.executeQuery(CompiledQuery.raw(`${copy}${form}`, [data]));
}

/** Inserts rows, and puts all their columns where the primary key is there. */
export async function upsertRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  if (rows.length === 0) return;
  const types = typesOf(table, namesOf(table, rows));
  const names = sql.raw(quoted(Object.keys(types)));
  const sets = exceptKey(table, Object.keys(types)).map((column) => `"${column}" = excluded."${column}"`);
  await sql`
    insert into ${sql.raw(table.name)} (${names}) select ${names} from ${recordset(rows, types)}
    on conflict (${sql.raw(quoted(table.key))}) do update set ${sql.raw(sets.join(', '))}`.execute(trx);
}

/** Adds rows to those of the same primary key, column by column; of instants the later one stays. */
export async function addToRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  if (rows.length === 0) return;
  const types = typesOf(table, namesOf(table, rows));
  const names = sql.raw(quoted(Object.keys(types)));
  const sets = exceptKey(table, Object.keys(types)).map((column) => {
    const both = [`${table.name}."${column}"`, `excluded."${column}"`];
    const instant = types[camelCase(column)]?.startsWith('timestamp');
    return `"${column}" = ${instant ? `greatest(${both.join(', ')})` : both.join(' + ')}`;
  });
  await sql`
    insert into ${sql.raw(table.name)} (${names}) select ${names} from ${recordset(rows, types)}
    on conflict (${sql.raw(quoted(table.key))}) do update set ${sql.raw(sets.join(', '))}`.execute(trx);
}

/**
 * Updates the rows of a table that have the primary keys of these: the other columns that they name, the same in each.
 * @param only a column that must be null for a row to change: a fact that is there stays.
 */
export async function updateRows<T extends Table, Name extends keyof Row<T>>(
  trx: Trx,
  table: T,
  rows: readonly Pick<Row<T>, Name>[],
  only?: keyof Row<T> & string,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const names = Object.keys(first);
  const set = exceptKey(table, names).map((column) => `"${column}" = r."${column}"`);
  const where = table.key.map((name) => `${table.name}."${snakeCase(name)}" = r."${snakeCase(name)}"`);
  if (only !== undefined) where.push(`${table.name}."${snakeCase(only)}" is null`);
  await sql`
    update ${sql.raw(table.name)} set ${sql.raw(set.join(', '))} from ${recordset(rows, typesOf(table, names))}
    where ${sql.raw(where.join(' and '))}`.execute(trx);
}

/** Returns false, with nothing written, when a key was there already or twice among the rows. */
async function copyRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<boolean> {
  await sql`savepoint copy`.execute(trx);
  try {
    await copyNew(trx, table, rows);
  } catch (error) {
    if (!isKeyTaken(error)) throw error;
    await sql`rollback to savepoint copy`.execute(trx);
    return false;
  }
  await sql`release savepoint copy`.execute(trx);
  return true;
}

/**
 * All columns: a row that lacks one has null there. Those with a default only when the rows, each or none, have a value for it.
 */
function namesOf<T extends Table>({ columns }: T, [first = {}]: readonly object[]): readonly (keyof T['columns'] & string)[] {
  return Object.entries(columns).flatMap(([name, { hasDefault }]) => (hasDefault && !(name in first) ? [] : [name]));
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${snakeCase(name)}"`).join(', ');
}

function exceptKey({ key }: Table, names: readonly string[]): readonly string[] {
  return names.filter((name) => !key.includes(name)).map(snakeCase);
}

/** Returns whether Postgres refused a key because it is there. */
export function isKeyTaken(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === UNIQUE_VIOLATION;
}

/** Writes rows as COPY's text form: a line per row, tabs between fields, `\N` for null. */
export function copyTextOf(rows: readonly object[], types: Readonly<Record<string, string>>): string {
  const fields = Object.entries(types);
  let text = '';
  for (const row of rows) {
    let separator = '';
    for (const [column, type] of fields) {
      text += separator + fieldText((row as Record<string, unknown>)[column], type); // `types` names the fields of a row
      separator = '\t';
    }
    text += '\n';
  }
  return text;
}

function fieldText(value: unknown, type: string): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value === 'number' || typeof value === 'boolean') return type === 'jsonb' ? JSON.stringify(value) : String(value);
  if (type === 'jsonb') return escaped(JSON.stringify(value));
  if ((type === 'uuid[]' || type === 'bigint[]') && Array.isArray(value)) return `{${value.join(',')}}`;
  if (value instanceof WrittenBytes) return `\\${value.toJSON()}`;
  if (typeof value !== 'string') throw new TypeError(`COPY cannot write ${typeof value} as ${type}`);
  if (type === 'bytea' && value.startsWith('\\x')) return `\\${value}`; // hex digits
  return type === 'uuid' ? value : escaped(value);
}

/** Four searches that mostly find nothing are faster than one expression with a callback (a 1 KB body: 0.4 µs against 3 µs). */
function escaped(text: string): string {
  let safe = text;
  if (safe.includes('\\')) safe = safe.replaceAll('\\', '\\\\');
  if (safe.includes('\n')) safe = safe.replaceAll('\n', '\\n');
  if (safe.includes('\r')) safe = safe.replaceAll('\r', '\\r');
  if (safe.includes('\t')) safe = safe.replaceAll('\t', '\\t');
  return safe;
}
