import type { Db } from '../../../postgres/database.ts';
import { readTable, type TableFilters } from '../../../projections/tables/read-table.ts';
import type { TableColumn } from '../../../projections/tables/table-column.ts';
import { readableTables, type TableName } from '../../../projections/tables/tables.ts';
import { openArrowStream } from './arrow-stream.ts';
import { type RowSources, UnreadableTable, wholeRows } from './whole-rows.ts';

/** What is asked of a table. */
export interface TableAsked {
  readonly table: TableName;
  readonly filter: TableFilters;
  readonly columns: readonly TableColumn[];
  /** Behind which row it begins; null for the first one. */
  readonly after: string | null;
  /** How many rows at most; null for all. */
  readonly limit: number | null;
}

export interface TableSources extends RowSources {
  /** The read models, of one snapshot, as who asks sees them. */
  readonly db: Db;
  /** What becomes of a row that cannot be read: the stream says so and ends, or throws. */
  readonly unreadable?: 'say' | 'throw';
}

/**
 * Returns a table as an Arrow IPC stream: its schema, a record batch per page, an empty one that says how it ended. Metadata of
 * the schema: `espalier.table`, `espalier.position`. Of each batch: `espalier.after`, the cursor behind its last row, from which
 * a client whose connection broke goes on. Of the last one: `espalier.end`, which is `end` or `limit`, or `espalier.error` as
 * JSON where the record names what cannot be read. A stream without either broke.
 */
export async function* streamTable(
  { db, unreadable = 'say', ...sources }: TableSources,
  { table, filter, columns, after, limit }: TableAsked,
  position: string,
): AsyncGenerator<Uint8Array> {
  const stream = openArrowStream(columns);
  let opened = stream.begin({ 'espalier.table': table, 'espalier.position': position });
  let left = limit ?? Number.POSITIVE_INFINITY;
  try {
    for await (const page of readTable(db, readableTables[table], filter, { columns, after, most: left })) {
      const rows = await wholeRows(page.rows, columns, sources);
      left -= rows.length;
      yield Buffer.concat([opened, stream.batch(rows, { 'espalier.after': page.after })]);
      opened = new Uint8Array();
    }
  } catch (error) {
    if (!(error instanceof UnreadableTable) || unreadable === 'throw') throw error;
    const said = JSON.stringify({ code: 'unreadable', message: error.message, remedy: error.remedy });
    yield Buffer.concat([opened, stream.batch([], { 'espalier.error': said }), stream.end()]);
    return;
  }
  yield Buffer.concat([opened, stream.batch([], { 'espalier.end': left === 0 ? 'limit' : 'end' }), stream.end()]);
}
