import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import { camelCase, snakeCase } from './camel-case.ts';
import type { Trx } from './database.ts';
import { CopyText } from './pool-connection.ts';
import { sideBySide } from './side-by-side.ts';
import { type NewRow, type Row, type Table, WrittenBytes } from './table.ts';

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

const COPY_ROWS = 50; // from here on COPY takes half the time of the statement

/**
 * Inserts rows into a table, skipping those whose primary key is already there. @throws the error of Postgres (`isKeyTaken`) when a
 * row clashes on another constraint than the primary key: it is another fact.
 */
export async function insertRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  await insertOr(trx, table, rows, () => 'nothing');
}

/** Inserts rows, and does what `conflict` says of the columns behind the key, by their types, where the primary key is there. */
async function insertOr<T extends Table>(
  trx: Trx,
  table: T,
  rows: readonly NewRow<T>[],
  conflict: (columns: readonly string[], types: Readonly<Record<string, string>>) => string,
): Promise<void> {
  if (rows.length === 0) return;
  const types = typesOf(table, namesOf(table, rows));
  const names = sql.raw(quoted(Object.keys(types)));
  await sql`
    insert into ${sql.raw(table.name)} (${names}) select ${names} from ${recordset(rows, types)}
    on conflict (${sql.raw(quoted(table.key))}) do ${sql.raw(conflict(exceptKey(table, Object.keys(types)), types))}`.execute(
    trx,
  );
}

/**
 * As `insertRows`, of rows that are hardly ever there already, one of an event at most: many are copied, which fails where one is
 * there (`isKeyTaken`), so that the slice is folded by halves.
 * @param isMissing whether a row is one that `copyNew` is for.
 */
export async function insertFresh<T extends Table>(
  trx: Trx,
  table: T,
  rows: readonly NewRow<T>[],
  isMissing: (row: NewRow<T>) => boolean = () => false,
): Promise<void> {
  if (rows.length >= COPY_ROWS) return copyNew(trx, table, rows);
  const missing = rows.filter(isMissing);
  const others = missing.length === 0 ? rows : rows.filter((row) => !isMissing(row));
  // both are sent at once: the statements after this one may read what it writes
  await sideBySide(
    () => copyNew(trx, table, missing),
    () => insertRows(trx, table, others),
  );
}

const UNIQUE_VIOLATION = '23505';

/**
 * Inserts rows by COPY that are new, as those are whose keys this transaction looked up and did not find. @throws the error of
 * Postgres (`isKeyTaken`) when a key is there after all, which ends the transaction: another one wrote it meanwhile, and what was
 * counted of the row here is wrong. Folded again, the look-up finds it.
 */
export async function copyNew<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  if (rows.length === 0) return;
  const types = typesOf(table, namesOf(table, rows));
  const copy = `copy ${table.name} (${quoted(Object.keys(types))}) from stdin`;
  await trx.executeQuery(CompiledQuery.raw(copy, [new CopyText(copyTextOf(rows, types))]));
}

/** Inserts rows, and puts all their columns where the primary key is there. */
export async function upsertRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  const set = (column: string) => `"${column}" = excluded."${column}"`;
  await insertOr(trx, table, rows, (columns) => `update set ${columns.map(set).join(', ')}`);
}

/** Adds rows to those of the same primary key, column by column; of instants the later one stays. */
export async function addToRows<T extends Table>(trx: Trx, table: T, rows: readonly NewRow<T>[]): Promise<void> {
  await insertOr(trx, table, rows, (columns, types) => {
    const sets = columns.map((column) => {
      const both = [`${table.name}."${column}"`, `excluded."${column}"`];
      const instant = types[camelCase(column)]?.startsWith('timestamp');
      return `"${column}" = ${instant ? `greatest(${both.join(', ')})` : both.join(' + ')}`;
    });
    return `update set ${sets.join(', ')}`;
  });
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
function copyTextOf(rows: readonly object[], types: Readonly<Record<string, string>>): string {
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
