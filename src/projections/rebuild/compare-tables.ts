import { type RawBuilder, sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { UNCOMPARED_TABLES, viewNameOf } from '../view-names.ts';

/** The sums of one table in two schemas: of its rows as they are kept, where these are the same, else as readers see them. */
export interface TableSums {
  readonly table: string;
  readonly live: Checksum;
  readonly anew: Checksum;
}
export interface Checksum {
  readonly rows: number;
  /**
   * Sum of a 64-bit hash of every row's text: the order of the rows does not matter, a repeated row does. Empty when there are
   * none.
   */
  readonly sum: string;
}

/**
 * A field of a row that is not the same in both, as Postgres writes it: JSON knows neither -0 nor the last digits of a bigint.
 * `key` is the row's primary key; null stands for a row that is not there where `field` is empty, else for a value that is not.
 */
export interface FieldDifference {
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  readonly field: string;
  readonly live: unknown;
  readonly anew: unknown;
}

const NO_TABLE = 'no such table';
const NO_COLUMN = 'no such column';

/**
 * Computes the checksums of the tables of two schemas that are compared, in the snapshot of the transaction. A table that one
 * lacks has no rows there.
 */
export async function sumTables(trx: Trx, live: string, anew: string): Promise<readonly TableSums[]> {
  const { rows } = await sql<{ table: string; schemas: string[] }>`
    select tablename::text as "table", array_agg(schemaname::text) as schemas from pg_tables
    where schemaname in (${live}, ${anew}) and not tablename = any(${UNCOMPARED_TABLES}::text[])
    group by tablename order by tablename`.execute(trx);
  const sums: TableSums[] = [];
  for (const { table, schemas } of rows) {
    const kept = await sumKept(trx, live, anew, table);
    if (kept !== null && isSame(kept)) {
      sums.push(kept);
      continue;
    }
    const of = async (schema: string) =>
      schemas.includes(schema) ? sumRows(trx, await shownRows(trx, schema, table)) : { rows: 0, sum: NO_TABLE };
    sums.push({ table, live: await of(live), anew: await of(anew) });
  }
  return sums;
}

/**
 * Sums the rows of a table as they are kept, where readers see them through a view in both schemas: what is kept alike is seen
 * alike, and needs no body from the log. Null where there is no such view, or other columns.
 */
async function sumKept(trx: Trx, live: string, anew: string, table: string): Promise<TableSums | null> {
  for (const schema of [live, anew]) if ((await viewNameOf(trx, schema, table)) === table) return null;
  const [one, other] = [await columnsOf(trx, live, table), await columnsOf(trx, anew, table)];
  if (one.size !== other.size || [...one].some(([column, type]) => other.get(column) !== type)) return null;
  const columns = sql.join([...one.keys()].map((column) => sql.ref(column)));
  const rowsOf = (schema: string) => sql`(select ${columns} from ${sql.table(`${schema}.${table}`)})`;
  return { table, live: await sumRows(trx, rowsOf(live)), anew: await sumRows(trx, rowsOf(anew)) };
}

/** Returns whether both hold the same rows. */
export function isSame({ live, anew }: TableSums): boolean {
  return live.rows === anew.rows && live.sum === anew.sum;
}

/**
 * By the hash of Postgres's own hash tables: of 100,000 steps in half the time of MD5, whose digest must become a number first.
 */
async function sumRows(trx: Trx, rowsCompared: RawBuilder<unknown>): Promise<Checksum> {
  const { rows } = await sql<Checksum>`
    select count(*)::bigint as rows, coalesce(sum(hashtextextended((t.*)::text, 0))::text, '') as sum
    from ${rowsCompared} t`.execute(trx);
  return rows[0] ?? { rows: 0, sum: '' };
}

/** The rows of a table as readers see them. */
async function shownRows(trx: Trx, schema: string, table: string): Promise<RawBuilder<unknown>> {
  return sql.table(`${schema}.${await viewNameOf(trx, schema, table)}`);
}

/**
 * Finds the first rows of a table, by its primary key, that are not the same in both schemas, field by field. A table that one
 * lacks, or whose keys cannot be joined, is one difference. None is named where there is no key, or only the order of the columns
 * differs: the sums differ all the same.
 */
export async function findDifferences(
  trx: Trx,
  { live, anew, table, limit }: { readonly live: string; readonly anew: string; readonly table: string; readonly limit: number },
): Promise<readonly FieldDifference[]> {
  const types = { live: await columnsOf(trx, live, table), anew: await columnsOf(trx, anew, table) };
  const presence = (columns: ReadonlyMap<string, string>) => (columns.size === 0 ? NO_TABLE : 'a table');
  if (types.live.size === 0 || types.anew.size === 0)
    return [{ table, key: {}, field: '', live: presence(types.live), anew: presence(types.anew) }];
  const key = await primaryKeyOf(trx, anew, table);
  const unlike = key.find((column) => types.live.get(column) !== types.anew.get(column));
  if (unlike !== undefined)
    return [
      { table, key: {}, field: unlike, live: types.live.get(unlike) ?? NO_COLUMN, anew: types.anew.get(unlike) ?? NO_COLUMN },
    ];
  if (key.length === 0) return [];
  const compared = { live: await shownRows(trx, live, table), anew: await shownRows(trx, anew, table) };
  const by = sql.join(key.map((column) => sql.ref(column)));
  const columns = [...new Set([...types.anew.keys(), ...types.live.keys()])];
  const texts = (side: 'live' | 'anew') =>
    sql.join(
      columns.map((column) => (types[side].has(column) ? sql`${sql.ref(`${side}.${column}`)}::text` : sql.lit(NO_COLUMN))),
    );
  type Texts = readonly (string | null)[];
  const { rows } = await sql<{ live: Texts | null; anew: Texts | null }>`
    select case when (live.*) is distinct from null then array[${texts('live')}] end as live,
           case when (anew.*) is distinct from null then array[${texts('anew')}] end as anew
    from ${compared.live} live full join ${compared.anew} anew using (${by})
    where (live.*)::text is distinct from (anew.*)::text order by ${by} limit ${limit}`.execute(trx);
  const named = (row: Texts | null) => row && Object.fromEntries(columns.map((column, i) => [column, row[i] ?? null]));
  return rows.flatMap((row) => fieldsOf(table, key, named(row.live), named(row.anew)));
}

type Row = Readonly<Record<string, string | null>>;

function fieldsOf(table: string, key: readonly string[], live: Row | null, anew: Row | null): FieldDifference[] {
  const known = live ?? anew ?? {};
  const at = { table, key: Object.fromEntries(key.map((column) => [column, known[column]])) };
  if (live === null || anew === null) return [{ ...at, field: '', live, anew }];
  const fields = Object.keys(known).filter((field) => live[field] !== anew[field]);
  return fields.map((field) => ({ ...at, field, live: live[field], anew: anew[field] }));
}

/** Column → its type, in order; empty where there is no such table. */
async function columnsOf(trx: Trx, schema: string, table: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ column: string; type: string }>`
    select a.attname::text as "column", format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
    where a.attrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) and a.attnum > 0 and not a.attisdropped
    order by a.attnum`.execute(trx);
  return new Map(rows.map(({ column, type }) => [column, type]));
}

async function primaryKeyOf(trx: Trx, schema: string, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ column: string }>`
    select a.attname as "column" from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = ${`${schema}.${table}`}::regclass and i.indisprimary order by array_position(i.indkey::int[], a.attnum::int)`.execute(
    trx,
  );
  return rows.map(({ column }) => column);
}
