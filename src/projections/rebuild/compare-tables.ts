import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';

/** The sums of one table in two schemas. */
export interface TableSums {
  readonly table: string;
  readonly live: Checksum;
  readonly anew: Checksum;
}
export interface Checksum {
  readonly rows: number;
  /** Sum of a 64-bit hash of every row's text: the order of the rows does not matter, a repeated row does. Empty when there are none. */
  readonly sum: string;
}

/** A field of a row that is not the same in both. `key` is the row's primary key as JSON; null stands for a row that is not there. */
export interface FieldDifference {
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  readonly field: string;
  readonly live: unknown;
  readonly anew: unknown;
}

/** Computes the checksums of all tables of two schemas, in the snapshot of the transaction. A table that one lacks has no rows there. */
export async function sumTables(trx: Trx, live: string, anew: string): Promise<readonly TableSums[]> {
  const { rows } = await sql<{ table: string; schemas: string[] }>`
    select tablename::text as "table", array_agg(schemaname::text) as schemas from pg_tables where schemaname in (${live}, ${anew})
    group by tablename order by tablename`.execute(trx);
  const sums: TableSums[] = [];
  for (const { table, schemas } of rows) {
    const of = (schema: string) => (schemas.includes(schema) ? sumTable(trx, schema, table) : { rows: 0, sum: 'no such table' });
    sums.push({ table, live: await of(live), anew: await of(anew) });
  }
  return sums;
}

/** Says whether both hold the same rows. */
export function isSame({ live, anew }: TableSums): boolean {
  return live.rows === anew.rows && live.sum === anew.sum;
}

/** By the hash of Postgres's own hash tables: of 100,000 steps in half the time of MD5, whose digest must become a number first. */
async function sumTable(trx: Trx, schema: string, table: string): Promise<Checksum> {
  const { rows } = await sql<Checksum>`
    select count(*)::bigint as rows, coalesce(sum(hashtextextended(t::text, 0))::text, '') as sum
    from ${sql.table(`${schema}.${table}`)} t`.execute(trx);
  return rows[0] ?? { rows: 0, sum: '' };
}

/** Finds the first rows of a table, by its primary key, that are not the same in both schemas, field by field. */
export async function findDifferences(
  trx: Trx,
  { live, anew, table, limit }: { readonly live: string; readonly anew: string; readonly table: string; readonly limit: number },
): Promise<readonly FieldDifference[]> {
  const key = await primaryKeyOf(trx, anew, table);
  if (key.length === 0) return [];
  const columns = sql.join(key.map((column) => sql.ref(column)));
  type Row = Readonly<Record<string, unknown>> | null;
  const { rows } = await sql<{ live: Row; anew: Row }>`
    select to_jsonb(l) as live, to_jsonb(a) as anew
    from ${sql.table(`${live}.${table}`)} l full join ${sql.table(`${anew}.${table}`)} a using (${columns})
    where l::text is distinct from a::text order by ${columns} limit ${limit}`.execute(trx);
  return rows.flatMap((row) => fieldsOf(table, key, row.live, row.anew));
}

function fieldsOf(
  table: string,
  key: readonly string[],
  live: Readonly<Record<string, unknown>> | null,
  anew: Readonly<Record<string, unknown>> | null,
): FieldDifference[] {
  const known = live ?? anew ?? {};
  const at = { table, key: Object.fromEntries(key.map((column) => [column, known[column]])) };
  if (live === null || anew === null) return [{ ...at, field: '', live, anew }];
  const fields = Object.keys(anew).filter((field) => JSON.stringify(live[field]) !== JSON.stringify(anew[field]));
  return fields.map((field) => ({ ...at, field, live: live[field], anew: anew[field] }));
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
