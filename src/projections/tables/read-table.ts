import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { keyAsText, keyAsValue } from '../../postgres/keyset.ts';
import { cursorOf, type KeyValue, type Ordering, parseCursor } from '../../postgres/keyset-cursor.ts';
import { atKeys, type Row, readWeighed } from './read-weighed.ts';
import type { PolicyTable, TableFilter, TreeTable } from './table.ts';
import type { TableColumn } from './table-column.ts';
import type { readableTables, TableName } from './tables.ts';

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
export function readTable(db: Db, table: AnyTable, filter: TableFilters, asked: TableRead): AsyncGenerator<TablePage> {
  // a filter of the table of the same name, as `table-query.ts` parses it
  return table.kind === 'trees'
    ? readTreeTable(db, table as unknown as TreeTable, filter, asked)
    : readPolicyTable(db, table as unknown as PolicyTable, filter, asked);
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
    const query = atKeys(table.query(db, filter), keys, place);
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
