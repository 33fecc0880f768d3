import { sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import { keyAsText, keyAsValue } from '../../postgres/keyset.ts';
import { cursorOf, type Key, type KeyValue, type Ordering, parseCursor } from '../../postgres/keyset-cursor.ts';
import { readProjectionStatuses } from '../projection-statuses.ts';
import { column, type PolicyTable, type TableColumn, type TableFilter, type TableQuery, type TreeTable } from './table.ts';
import { readableTables, type TableName } from './tables.ts';

/** Rows of a table in its order, and the cursor behind the last of them. Values are named as their columns, in camelCase. */
export interface TablePage {
  readonly rows: readonly Row[];
  readonly after: string;
}

const ROWS = 4_096; // of a page: a fraction of a second of one processor, 1 to 3 MB
const TREES = { first: 512, most: 4_096 }; // looked at by one statement

/**
 * Reads a table page by page from behind a cursor, or from its beginning. A page is bounded in rows and in bytes, and a statement
 * in the trees that it looks at, so that it costs the same wherever it lies and however little its filter chooses.
 * @throws InvalidCursor.
 */
export function readTable(db: Db, table: AnyTable, filter: TableFilters, read: TableRead): AsyncGenerator<TablePage> {
  // a filter of the table of the same name, as `table-query.ts` parses it
  return table.kind === 'trees'
    ? readTreeTable(db, table as unknown as TreeTable, filter, read)
    : readPolicyTable(db, table as unknown as PolicyTable, filter, read);
}

export interface TableRead {
  readonly columns: readonly TableColumn[];
  readonly after: string | null;
  /** How many rows at most. */
  readonly most: number;
}
type AnyTable = (typeof readableTables)[TableName];
/** A filter of any of the tables. */
export type TableFilters = Parameters<AnyTable['query']>[1];

/** The order of a table, for its cursors. */
export function orderingOf({ kind, name, keys }: Pick<TreeTable | PolicyTable, 'kind' | 'name' | 'keys'>): Ordering {
  return { name: `tables/${name}`, direction: 'asc', keys: kind === 'trees' ? [...TREE_KEYS, ...keys] : keys };
}

const TREE_KEYS = [
  { column: 'trees.runId', type: 'uuid' },
  { column: 'trees.openedAt', type: 'instant' },
  { column: 'trees.treeId', type: 'uuid' },
] as const;
const DEPTH = TREE_KEYS.length;

async function* readPolicyTable(
  db: Db,
  table: PolicyTable,
  filter: TableFilters,
  { columns, after, most }: TableRead,
): AsyncGenerator<TablePage> {
  const ordering = orderingOf(table);
  const { keys } = ordering;
  let place = after === null ? null : parseCursor(after, ordering);
  for (let left = most; left > 0; ) {
    const query = behind(table.query(db, filter), keys, place);
    const { rows, more } = await readWeighed({ query, keys, limit: Math.min(ROWS, left) }, columns);
    left -= rows.length;
    place = rows.at(-1)?.keys ?? place;
    if (place !== null && rows.length > 0) yield { rows: rows.map(({ row }) => row), after: cursorOf(ordering, place) };
    if (!more) return;
  }
}

/** Where a reader is: behind a tree, or within one. */
interface Place {
  readonly tree: readonly KeyValue[];
  /** The keys of the last row of it that was read; null behind all of them. */
  readonly row: readonly KeyValue[] | null;
}

async function* readTreeTable(
  db: Db,
  table: TreeTable,
  filter: TableFilters,
  { columns, after, most }: TableRead,
): AsyncGenerator<TablePage> {
  const ordering = orderingOf(table);
  const given = after === null ? null : parseCursor(after, ordering);
  const begin = given && { tree: given.slice(0, DEPTH), row: given.slice(DEPTH) };
  const runs = filter.runIds ? [...new Set(filter.runIds)].sort() : [null];
  let left = most;
  for (const runId of runs) {
    const [reached] = begin?.tree ?? [];
    if (runId !== null && reached != null && runId < reached) continue;
    let place: Place | null = runId === null || runId === reached ? begin : null;
    let looked: number = TREES.first;
    while (left > 0) {
      const trees = await readTrees(db, filter, runId, place, looked);
      if (trees.length === 0) break;
      const places = new Map(trees.map((tree) => [tree.treeId, [tree.runId, tree.opened, tree.treeId]] as const));
      const query = table
        .query(db, filter)
        .where(sql<boolean>`trees.tree_id = any(${[...places.keys()]}::uuid[])`)
        .where(notBefore(table, place));
      const { rows, more } = await readWeighed(
        { query, keys: ordering.keys, limit: Math.min(ROWS, left), within: DEPTH },
        columns,
      );
      left -= rows.length;
      const last = rows.at(-1);
      if (last) {
        const tree = places.get(last.row.keyTree as string) ?? []; // each row lies in one of these trees
        if (more) place = { tree, row: last.keys };
        yield { rows: rows.map(({ row }) => row), after: cursorOf(ordering, [...tree, ...last.keys]) };
      }
      if (more) continue;
      if (trees.length < looked) break;
      place = { tree: places.get(trees.at(-1)?.treeId ?? '') ?? [], row: null };
      looked = Math.min(TREES.most, Math.max(64, Math.floor((looked * ROWS) / Math.max(rows.length, 1) / 1.25)));
    }
  }
}

/** Leaves out the rows of the tree of a place that are read already. */
function notBefore({ keys }: TreeTable, place: Place | null) {
  if (!place?.row) return sql<boolean>`true`;
  const [own, values] = [
    keys.map(({ column }) => sql.ref(column)),
    keys.map((key, i) => keyAsValue(key, place.row?.[i] ?? null)),
  ];
  return sql<boolean>`(trees.tree_id <> ${place.tree.at(-1)}::uuid or (${sql.join(own)}) > (${sql.join(values)}))`;
}

/** Reads on in the trees of a filter, in the order in which they were opened in each run. */
async function readTrees(db: Db, filter: TableFilters, runId: string | null, place: Place | null, limit: number) {
  const { treeId, taskId, environment, split, taskDepth } = filter as TableFilter;
  const all = [sql`true`];
  if (runId !== null) all.push(sql`trees.run_id = ${runId}::uuid`);
  if (treeId !== undefined) all.push(sql`trees.tree_id = ${treeId}::uuid`);
  if (taskId !== undefined) all.push(sql`trees.task_id = ${taskId}::uuid`);
  if (environment !== undefined) all.push(sql`trees.environment = ${environment}`);
  if (split !== undefined) all.push(sql`trees.split = ${split}`);
  if (taskDepth !== undefined) all.push(sql`trees.task_depth = ${taskDepth}`);
  const keys = sql.join(TREE_KEYS.map(({ column }) => sql.ref(column)));
  if (place) {
    const values = sql.join(TREE_KEYS.map((key, i) => keyAsValue(key, place.tree[i] ?? null)));
    all.push(sql`(${keys}) ${place.row ? sql`>=` : sql`>`} (${values})`);
  }
  const { rows } = await sql<{ readonly treeId: string; readonly runId: string; readonly opened: string }>`
    select trees.tree_id, trees.run_id, ${keyAsText(TREE_KEYS[1])} as opened
    from trees where ${sql.join(all, sql` and `)} order by ${keys} limit ${limit}`.execute(db);
  return rows;
}

/** The values of a row by column, in camelCase; `keyTree` is its tree, `blobs` its large texts, where it has such. */
export type Row = Readonly<Record<string, unknown>>;

/** What rows are read of, in which order. */
interface ReadRows {
  readonly query: TableQuery;
  readonly keys: readonly Key[];
  readonly limit: number;
  /** How many of the keys are those of the tree, which the reader has. */
  readonly within?: number;
}
interface ReadRow {
  readonly row: Row;
  /** The keys behind those of the tree. */
  readonly keys: readonly KeyValue[];
}

const BYTES = 8 * 2 ** 20; // of the texts and tokens of a page; one row may be larger alone

/**
 * Reads rows in order, no more than the limit and than their texts and tokens allow, and whether there are more. Postgres knows
 * the sizes of texts without reading them: where columns have sizes, rows are weighed first, and those that fit are read.
 */
async function readWeighed(from: ReadRows, columns: readonly TableColumn[]): Promise<{ rows: ReadRow[]; more: boolean }> {
  const sizes = columns.flatMap(({ bytes }) => (bytes ? [sql`coalesce(${bytes}, 0)`] : []));
  if (sizes.length === 0) return readLimited(from, columns);
  const weight = sql`${sql.join(sizes, sql` + `)}`;
  const weighed = await readLimited(from, [column('weight', 'int64', sql`(${weight})::bigint`, '')]);
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
function behind(query: TableQuery, keys: readonly Key[], place: readonly KeyValue[] | null): TableQuery {
  if (place === null) return query;
  const [own, values] = [keys.map(({ column }) => sql.ref(column)), keys.map((key, i) => keyAsValue(key, place[i] ?? null))];
  return query.where(sql<boolean>`(${sql.join(own)}) > (${sql.join(values)})`);
}

/**
 * Returns the position below which everything is in a table, in the snapshot of a transaction: in each partition the least that
 * one of its projections has folded. Lets Postgres end the transaction when its client is silent for long.
 */
export async function readTablePosition(trx: Trx, table: TableName, idleMs: number): Promise<Offsets> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${`${idleMs}ms`}, true)`.execute(trx);
  const from: readonly string[] = readableTables[table].from;
  const position = new Map<string, Map<number, number>>();
  for (const { name, cursors } of await readProjectionStatuses(trx)) {
    if (!from.includes(name)) continue;
    for (const [topic, partitions] of cursors) {
      const least = position.get(topic) ?? new Map<number, number>();
      position.set(topic, least);
      for (const [partition, next] of partitions) least.set(partition, Math.min(next, least.get(partition) ?? next));
    }
  }
  return position;
}
