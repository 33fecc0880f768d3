import { sql } from 'kysely';
import { keyAsText, keyAsValue } from '../../postgres/keyset.ts';
import type { Key, KeyValue } from '../../postgres/keyset-cursor.ts';
import type { TableQuery } from './table.ts';
import type { TableColumn } from './table-column.ts';

/** The values of a row by column, in camelCase; `keyTree` is its tree, `blobs` its large texts, where it has such. */
export type Row = Readonly<Record<string, unknown>>;

/** What rows are read of, in which order. */
export interface ReadRows {
  readonly query: TableQuery;
  readonly keys: readonly Key[];
  readonly limit: number;
  /** How many of the keys are those of the tree, which the reader has. */
  readonly within?: number;
}
export interface ReadRow {
  readonly row: Row;
  /** The keys behind those of the tree. */
  readonly keys: readonly KeyValue[];
}

const BYTES = 8 * 2 ** 20; // of the texts and tokens of a page; one row may be larger alone

/**
 * Reads rows in order, no more than the limit and than their texts and tokens allow, and whether there are more. Postgres knows
 * the sizes of texts without reading them: where columns have sizes, rows are weighed first, and those that fit are read.
 */
export async function readWeighed(from: ReadRows, columns: readonly TableColumn[]): Promise<{ rows: ReadRow[]; more: boolean }> {
  const sizes = columns.flatMap(({ bytes }) => (bytes ? [sql`coalesce(${bytes}, 0)`] : []));
  if (sizes.length === 0) return readLimited(from, columns);
  const weight = sql`${sql.join(sizes, sql` + `)}`;
  const weighed = await readLimited(from, [{ name: 'weight', type: 'int64', value: sql`(${weight})::bigint`, says: '' }]);
  let sum = 0;
  const heavy = weighed.rows.findIndex(({ row }, i) => {
    sum += Number(row.weight);
    return sum > BYTES && i > 0;
  });
  const chosen = heavy < 0 ? weighed.rows : weighed.rows.slice(0, heavy);
  if (chosen.length === 0) return { rows: [], more: false };
  const id = from.keys.at(-1);
  if (!id) throw new Error('an order has keys');
  const ids = chosen.map(({ keys }) => keys.at(-1) ?? null);
  const query = from.query.where(sql<boolean>`${sql.ref(id.column)} = any(${ids}::uuid[])`);
  const { rows } = await readLimited({ ...from, query }, columns);
  return { rows, more: weighed.more || heavy >= 0 };
}

async function readLimited(from: ReadRows, columns: readonly TableColumn[]): Promise<{ rows: ReadRow[]; more: boolean }> {
  const { query, keys, limit, within = 0 } = from;
  const own = keys.slice(within);
  const selected = [
    ...columns.map(({ name, value }) => value.as(name)),
    ...own.map((key, i) => keyAsText(key).as(`key_${i}`)),
    ...(within > 0 ? [sql`trees.tree_id`.as('key_tree')] : []),
    ...(columns.some(({ large }) => large !== undefined) ? [sql`steps.blobs`.as('blobs')] : []),
  ];
  let ordered = query.select(selected).limit(limit + 1); // one more shows whether there are more
  for (const { column } of keys) ordered = ordered.orderBy(sql.ref(column));
  const found = (await ordered.execute()) as Row[]; // an object per row, as kysely returns them
  const more = found.length > limit;
  if (more) found.pop();
  return { rows: found.map((row) => ({ row, keys: own.map((_, i) => row[`key${i}`] as KeyValue) })), more };
}

/** Begins behind a place of an order. */
export function atKeys(query: TableQuery, keys: readonly Key[], place: readonly KeyValue[] | null): TableQuery {
  if (place === null) return query;
  const [own, values] = [keys.map(({ column }) => sql.ref(column)), keys.map((key, i) => keyAsValue(key, place[i] ?? null))];
  return query.where(sql<boolean>`(${sql.join(own)}) > (${sql.join(values)})`);
}
