import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { cursorOf, type Key, type KeyValue, type Ordering, parseCursor } from './keyset-cursor.ts';

/** One page: `forwards` reads on from `after`, `backwards` reads up to `before`; the rows are in the ordering's order either way. */
export interface PageRequest {
  readonly limit: number;
  readonly towards: 'forwards' | 'backwards';
  readonly after: string | null;
  readonly before: string | null;
}
export interface Page<Row> {
  readonly rows: readonly { readonly row: Row; readonly cursor: string }[];
  /** Rows are known to lie before the first one, or a cursor says so. */
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
}

/**
 * Reads one page of a query by keyset: `where (key, id) > (…)`, never an offset, so a page costs the same wherever it lies, and rows that
 * arrive meanwhile neither repeat nor hide a row. Key values travel in the cursor as the exact text of the database (a timestamp keeps its
 * microseconds, a double all its bits). @throws InvalidCursor.
 */
export async function readPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  ordering: Ordering,
  page: PageRequest,
): Promise<Page<Row>> {
  const reverse = page.towards === 'backwards';
  let select = query.limit(page.limit + 1); // one more tells whether there is a further page
  if (page.after !== null) select = select.where(beyond(ordering, parseCursor(page.after, ordering), 'after'));
  if (page.before !== null) select = select.where(beyond(ordering, parseCursor(page.before, ordering), 'before'));
  const direction = (ordering.direction === 'asc') !== reverse ? sql`asc` : sql`desc`;
  for (const key of ordering.keys) select = select.orderBy(sql`${sql.ref(key.column)} ${direction}`);
  const keyed = select.select(sql<KeyValue[]>`array[${sql.join(ordering.keys.map(asText))}]`.as('keyset_values'));
  const found = (await keyed.execute()) as (Row & { keyset_values: KeyValue[] })[]; // the line above adds the column
  const more = found.length > page.limit;
  if (more) found.pop();
  if (reverse) found.reverse();
  return {
    rows: found.map((row) => ({ row, cursor: cursorOf(ordering, row.keyset_values) })),
    hasPrevious: reverse ? more : page.after !== null,
    hasNext: reverse ? page.before !== null : more,
  };
}

/** The rows on one side of a cursor. Null keys stand last in ascending order, where Postgres and its indexes put them. */
function beyond(ordering: Ordering, values: readonly KeyValue[], side: 'after' | 'before'): RawBuilder<boolean> {
  const greater = (ordering.direction === 'asc') === (side === 'after');
  const operator = greater ? sql`>` : sql`<`;
  const tuple = (keys: readonly Key[], of: readonly KeyValue[]) =>
    sql<boolean>`(${sql.join(keys.map((k) => sql.ref(k.column)))}) ${operator} (${sql.join(keys.map((k, i) => asValue(k, of[i] ?? null)))})`;
  const [first, ...rest] = ordering.keys;
  if (first?.type.endsWith('?') !== true) return tuple(ordering.keys, values);
  const column = sql.ref(first.column);
  if (values[0] !== null) {
    return greater ? sql`(${tuple(ordering.keys, values)} or ${column} is null)` : tuple(ordering.keys, values);
  }
  const among = sql`(${column} is null and ${tuple(rest, values.slice(1))})`;
  return greater ? sql`${among}` : sql`(${column} is not null or ${among})`;
}

function asText(key: Key): RawBuilder<string | null> {
  const column = sql.ref(key.column);
  if (key.type.startsWith('instant')) return sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return sql`${column}::text`;
}

function asValue(key: Key, value: KeyValue): RawBuilder<unknown> {
  switch (key.type) {
    case 'uuid':
      return sql`${value}::uuid`;
    case 'text':
      return sql`${value}::text`;
    case 'instant':
    case 'instant?':
      return sql`${value}::timestamptz`;
    case 'float':
      return sql`${value}::float8`;
    case 'integer':
    case 'integer?':
      return sql`${value}::int8`;
  }
}
