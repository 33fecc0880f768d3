import { type RawBuilder, sql } from 'kysely';

/**
 * Writes `jsonb_to_recordset(rows) as r(column type, …)`: many rows in one parameter. Of the ways to insert in bulk inside a transaction
 * it was the fastest that needs no COPY (57 k rows/s against 43 k for unnest and 34 k for multi-row values; 800-byte rows, two cores).
 */
export function recordset<Row extends object>(
  rows: readonly Row[],
  columns: Readonly<Record<keyof Row & string, string>>,
): RawBuilder<unknown> {
  const list = Object.entries(columns).map(([column, type]) => `"${column}" ${type}`);
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(${sql.raw(list.join(', '))})`;
}

/** Inserts rows into a table, skipping those whose key is already there. Column names and types are literals of the code, never data. */
export function insertRows<Row extends object>(
  table: string,
  rows: readonly Row[],
  columns: Readonly<Record<keyof Row & string, string>>,
): RawBuilder<unknown> {
  const names = sql.raw(
    Object.keys(columns)
      .map((column) => `"${column}"`)
      .join(', '),
  );
  return sql`insert into ${sql.raw(table)} (${names}) select ${names} from ${recordset(rows, columns)} on conflict do nothing`;
}
