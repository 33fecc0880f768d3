import { type QueryExecutorProvider, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Db } from './database.ts';
import { compareKeys, cursorOf, type Key, type KeyValue, type Ordering, parseCursor } from './keyset-cursor.ts';
import type { Tables } from './tables.ts';

/**
 * One page: `forwards` reads on from `after`, `backwards` reads up to `before`; the rows are in the ordering's order either way.
 */
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
  /** Where to read on, in the direction of the page, where that is not its last row: it ended before it was full. */
  readonly resume?: string;
}

/**
 * Reads one page of each query by keyset, all in one statement: `where (key, id) > (…)`, never an offset, so a page costs the
 * same wherever it lies, and rows that arrive meanwhile neither repeat nor hide a row. Key values travel in the cursor as the
 * exact text of the database (a timestamp keeps its microseconds, a double all its bits). Returns the pages in the order of the
 * queries. @throws InvalidCursor.
 */
export async function readPages<DB, TB extends keyof DB, Row>(
  db: QueryExecutorProvider,
  queries: readonly SelectQueryBuilder<DB, TB, Row>[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<Row>[]> {
  const parts = queries.map((query, index) => sql`(${pageOf(query, index, ordering, page)})`);
  if (parts.length === 0) return [];
  // Each part keeps its order: Postgres appends parts with a limit one after the other, never in parallel.
  const { rows } = await sql<Keyed<Row>>`${sql.join(parts, sql` union all `)}`.execute(db);
  const found: Keyed<Row>[][] = queries.map(() => []);
  for (const row of rows) found[row.keysetQuery]?.push(row);
  return found.map((of) => pageFrom(of, ordering, page));
}

/** Reads one page of one query. @throws InvalidCursor. */
export async function readPage<DB, TB extends keyof DB, Row>(
  db: QueryExecutorProvider,
  query: SelectQueryBuilder<DB, TB, Row>,
  ordering: Ordering,
  page: PageRequest,
): Promise<Page<Row>> {
  const [found] = await readPages(db, [query], ordering, page);
  if (!found) throw new Error('one query has one page');
  return found;
}

/** Counts the rows of each query, in one statement. */
export async function countEach<DB, TB extends keyof DB>(
  db: QueryExecutorProvider,
  queries: readonly SelectQueryBuilder<DB, TB, unknown>[],
): Promise<readonly number[]> {
  const parts = queries.map((query, index) => {
    const counted = query.clearSelect().select([sql.lit(index).as('keysetQuery'), sql<number>`count(*)`.as('rows')]);
    return sql`(${counted})`;
  });
  if (parts.length === 0) return [];
  const counted = await sql<{ keysetQuery: number; rows: number }>`${sql.join(parts, sql` union all `)}`.execute(db);
  const counts = new Map(counted.rows.map(({ keysetQuery, rows }) => [keysetQuery, rows]));
  return queries.map((_, index) => counts.get(index) ?? 0);
}

/**
 * A list of what filters choose: reads one page for each filter, and counts the rows of each, all in one statement.
 * @param to what a row is shown as.
 */
export function listOf<Filter, DB, TB extends keyof DB, Row, Item>(
  chosen: (db: Db, filter: Filter) => SelectQueryBuilder<DB, TB, Row>,
  to: (row: Row) => Item,
) {
  const all = (db: Db, filters: readonly Filter[]) => filters.map((filter) => chosen(db, filter));
  return {
    /** @throws InvalidCursor. */
    async pages(db: Db, filters: readonly Filter[], ordering: Ordering, page: PageRequest): Promise<readonly Page<Item>[]> {
      return mapPages(await readPages(db, all(db, filters), ordering, page), to);
    },
    counts: (db: Db, filters: readonly Filter[]): Promise<readonly number[]> => countEach(db, all(db, filters)),
  };
}

/** Chooses the rows whose columns have the values that a filter has under their names; what it leaves out chooses all. */
export function whereEqual<Name extends keyof Tables & string, Filter extends object, TB extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, TB, Row>,
  table: Name,
  filter: Filter,
  columns: readonly (keyof Filter & keyof Tables[Name] & string)[],
): SelectQueryBuilder<Tables, TB, Row> {
  return columns.reduce((some, column) => {
    const value = filter[column];
    return value === undefined ? some : some.where(sql<boolean>`${sql.ref(`${table}.${column}`)} = ${value}`);
  }, query);
}

/** A count that ends at a number. */
export interface UpTo {
  readonly count: number;
  /** Whether there are no more. */
  readonly complete: boolean;
}

/** Counts the rows of a query up to a number, read as a page of so many would be: in an ordering that its filters are fast in. */
export async function countUpTo<DB, TB extends keyof DB>(
  db: QueryExecutorProvider,
  query: SelectQueryBuilder<DB, TB, unknown>,
  ordering: Ordering,
  upTo: number,
): Promise<UpTo> {
  const ones = query.clearSelect().select(sql.lit(1).as('one'));
  let some = ones.where(IN_ONE_PROCESS).limit(upTo + 1);
  for (const key of inOrder(ordering, 'forwards')) some = some.orderBy(key);
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from (${some}) counted`.execute(db);
  const count = rows[0]?.rows ?? 0;
  return { count: Math.min(count, upTo), complete: count <= upTo };
}

/**
 * Always true, and by naming a function that Postgres calls in no parallel worker keeps a statement to one process: a page ends
 * soon, while workers would read ahead of it what nobody asks for.
 */
const IN_ONE_PROCESS = sql<boolean>`(true or current_schema() is null)`;

type Keyed<Row> = Row & { readonly keysetQuery: number; readonly keysetValues: readonly KeyValue[] };

/**
 * The statement of one page. What lies beyond a cursor in two ranges, those with a first key and those without, is read range by
 * range, each by conditions of an index, and the second one only where the first one does not fill the page.
 */
function pageOf<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  index: number,
  ordering: Ordering,
  page: PageRequest,
): RawBuilder<unknown> {
  const limit = page.limit + 1; // one more shows whether there is a further page
  const beside = (side: 'after' | 'before', cursor = page[side]) =>
    cursor === null ? [] : beyond(ordering, parseCursor(cursor, ordering), side);
  const [after, before] = [beside('after'), beside('before')];
  const [ranges, bound] = page.towards === 'forwards' ? [after, before] : [before, after];
  let select = query.where(IN_ONE_PROCESS).limit(limit);
  if (bound.length > 0) select = select.where(sql<boolean>`(${sql.join(bound, sql` or `)})`);
  for (const key of inOrder(ordering, page.towards)) select = select.orderBy(key);
  const keyed = select.select([
    sql<KeyValue[]>`array[${sql.join(ordering.keys.map(keyAsText))}]`.as('keysetValues'),
    sql.lit(index).as('keysetQuery'),
  ]);
  const [first, second] = ranges.map((range) => keyed.where(range));
  return second ? sql`select * from ((${first}) union all (${second})) ranges limit ${limit}` : sql`${first ?? keyed}`;
}

function pageFrom<Row>(found: Keyed<Row>[], ordering: Ordering, page: PageRequest): Page<Row> {
  const more = found.length > page.limit;
  if (more) found.pop();
  const forwards = page.towards === 'forwards';
  if (!forwards) found.reverse();
  return {
    rows: found.map(({ keysetQuery: _, keysetValues, ...row }) => ({
      row: row as unknown as Row, // without the two columns that were added
      cursor: cursorOf(ordering, keysetValues),
    })),
    hasPrevious: forwards ? page.after !== null : more,
    hasNext: forwards ? more : page.before !== null,
  };
}

function inOrder({ keys, direction, nulls }: Ordering, towards: PageRequest['towards']): readonly RawBuilder<unknown>[] {
  const forwards = towards === 'forwards';
  const ascending = (direction === 'asc') === forwards;
  const place = nulls === undefined || ascending === forwards ? '' : forwards ? ' nulls last' : ' nulls first';
  return keys.map(
    ({ column, type }) => sql`${sql.ref(column)} ${sql.raw(`${ascending ? 'asc' : 'desc'}${type.endsWith('?') ? place : ''}`)}`,
  );
}

/** Conditions that choose no row twice, in the order in which their rows lie from a cursor on. */
type Ranges = readonly RawBuilder<boolean>[];

/** The rows on one side of a cursor, where null keys stand as the ordering has them. */
function beyond(ordering: Ordering, values: readonly KeyValue[], side: 'after' | 'before'): Ranges {
  const greater = (ordering.direction === 'asc') === (side === 'after');
  const operator = greater ? sql`>` : sql`<`;
  const tuple = (keys: readonly Key[], of: readonly KeyValue[]) =>
    sql<boolean>`(${sql.join(keys.map((k) => sql.ref(k.column)))}) ${operator} (${sql.join(keys.map((k, i) => keyAsValue(k, of[i] ?? null)))})`;
  const [first, ...rest] = ordering.keys;
  if (first?.type.endsWith('?') !== true) return [tuple(ordering.keys, values)];
  const column = sql.ref(first.column);
  const towardsNulls = ordering.nulls === 'last' ? side === 'after' : greater;
  if (values[0] !== null) return [tuple(ordering.keys, values), ...(towardsNulls ? [sql<boolean>`${column} is null`] : [])];
  const among = sql<boolean>`(${column} is null and ${tuple(rest, values.slice(1))})`;
  return [among, ...(towardsNulls ? [] : [sql<boolean>`${column} is not null`])];
}

/** Returns a key as the exact text of the database. */
export function keyAsText(key: Key): RawBuilder<string | null> {
  const column = sql.ref(key.column);
  if (key.type.startsWith('instant')) return sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return sql`${column}::text`;
}

/** Returns the text of a key as a value of its type. */
export function keyAsValue(key: Key, value: KeyValue): RawBuilder<unknown> {
  switch (key.type) {
    case 'uuid':
      return sql`${value}::uuid`;
    case 'text':
      return sql`${value}::text`;
    case 'instant':
    case 'instant?':
      return sql`${value}::timestamptz`;
    case 'float':
    case 'float?':
      return sql`${value}::float8`;
    case 'integer':
    case 'integer?':
      return sql`${value}::int8`;
  }
}

/**
 * Joins pages of one ordering that were read apart, of rows that are no other's, into the page of them all.
 * @throws RangeError for an ordering by texts, which the database compares by its own rules.
 */
export function joinPages<Row>(pages: readonly Page<Row>[], ordering: Ordering, page: PageRequest): Page<Row> {
  const [only] = pages;
  if (only && pages.length === 1) return only;
  const keyed = pages.flatMap(({ rows }) => rows).map((row) => ({ row, values: parseCursor(row.cursor, ordering) }));
  const rows = keyed.sort((a, b) => compareKeys(a.values, b.values, ordering)).map(({ row }) => row);
  const forwards = page.towards === 'forwards';
  const more = rows.length > page.limit || pages.some(({ hasNext, hasPrevious }) => (forwards ? hasNext : hasPrevious));
  return {
    rows: forwards ? rows.slice(0, page.limit) : rows.slice(Math.max(0, rows.length - page.limit)),
    hasPrevious: forwards ? page.after !== null : more,
    hasNext: forwards ? more : page.before !== null,
  };
}

/** Turns the rows of pages into what is made of them. */
export function mapPages<Row, Item>(pages: readonly Page<Row>[], to: (row: Row) => Item): readonly Page<Item>[] {
  return pages.map((page) => ({ ...page, rows: page.rows.map(({ row, cursor }) => ({ row: to(row), cursor })) }));
}
