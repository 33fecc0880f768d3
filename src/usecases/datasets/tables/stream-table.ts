import { BlobCorrupt, BlobMissing, type BlobStore } from '../../../blobs/blob-store.ts';
import type { BlobRef, Packed } from '../../../events/schemas/values.ts';
import { formatPosition } from '../../../log/position.ts';
import { camelCase } from '../../../postgres/camel-case.ts';
import type { Blobs } from '../../../postgres/column-types.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { forgottenAmong } from '../../../postgres/stream-keys.ts';
import { type Row, readTable, readTablePosition, type TableFilters } from '../../../projections/tables/read-table.ts';
import type { ColumnType, TableColumn } from '../../../projections/tables/table.ts';
import { readableTables, type TableName } from '../../../projections/tables/tables.ts';
import { AtomicFile, type Existing } from '../export/atomic-file.ts';
import { type Elements, openArrowStream } from './arrow-stream.ts';

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

export interface WrittenTable {
  readonly bytes: number;
  readonly sha256: string;
  /** Everything below it is in the file. */
  readonly position: string;
}

const IDLE_MS = 600_000; // a disk that is slow to sync

/** Writes a table of one snapshot as a file of an Arrow IPC stream. @throws DatasetError. */
export async function writeTable(
  { db, blobs }: { readonly db: Db; readonly blobs: Pick<BlobStore, 'get'> },
  asked: TableAsked,
  { out, existing }: { readonly out: string; readonly existing: Existing },
): Promise<WrittenTable> {
  const file = await AtomicFile.open(out, existing);
  try {
    const transaction = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
    const position = await transaction.execute((trx) => write(trx, file));
    const sealed = await file.seal();
    await file.publish();
    return { ...sealed, position };
  } catch (error) {
    await file.discard();
    throw error;
  }

  async function write(trx: Trx, to: AtomicFile): Promise<string> {
    const position = formatPosition(await readTablePosition(trx, asked.table, IDLE_MS));
    for await (const bytes of streamTable({ db: trx, keys: trx, blobs, unreadable: 'throw' }, asked, position))
      await to.write(bytes);
    return position;
  }
}

/** What the record names and the server cannot read: the rows before it are whole. */
class UnreadableTable extends Error {
  override readonly name = 'UnreadableTable';
  readonly remedy: string;
  constructor(message: string, remedy: string, cause?: unknown) {
    super(message, { cause });
    this.remedy = remedy;
  }
}

interface RowSources {
  /** The database for keys of streams, which no project has to itself. */
  readonly keys: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
}

/**
 * Returns rows with what does not lie in their table: large texts, elements of packed arrays, and what is forgotten, whose
 * columns are null. @throws UnreadableTable.
 */
async function wholeRows(
  rows: readonly Row[],
  columns: readonly TableColumn[],
  { keys, blobs }: RowSources,
): Promise<readonly Row[]> {
  const payload = columns.filter((column) => column.payload);
  const says = columns.some(({ name }) => name === 'forgotten');
  if (payload.length === 0 && !says) return rows;
  const forgotten = await forgottenAmong(keys, [...new Set(rows.map((row) => String(row.keyTree)))]);
  const whole: Row[] = [];
  for (const row of rows) {
    const gone = forgotten.has(String(row.keyTree));
    whole.push(gone ? withoutPayload(row, payload) : await withPayload(row, payload, blobs));
  }
  return whole;
}

function withoutPayload(row: Row, payload: readonly TableColumn[]): Row {
  return { ...row, ...Object.fromEntries(payload.map(({ name }) => [camelCase(name), null])), forgotten: true };
}

async function withPayload(row: Row, payload: readonly TableColumn[], blobs: RowSources['blobs']): Promise<Row> {
  const large = (row.blobs ?? {}) as Blobs;
  const read: Record<string, unknown> = {};
  for (const { name, type, large: field } of payload) {
    const value = row[camelCase(name)];
    const width = WIDTHS[type];
    if (width !== undefined && value != null) read[camelCase(name)] = await elementsOf(value as Packed, width, name, blobs);
    const reference = field === undefined ? undefined : large[field];
    if (reference) read[camelCase(name)] = Buffer.from(await readBlob(reference, name, blobs)).toString('utf8');
  }
  return { ...row, ...read };
}

/** Bytes of an element of what lies packed. */
const WIDTHS: Partial<Readonly<Record<ColumnType, number>>> = { int32s: 4, float32s: 4, uint8s: 1 };

async function elementsOf(
  { length, bytes }: Packed,
  width: number,
  column: string,
  blobs: RowSources['blobs'],
): Promise<Elements> {
  const read = typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : await readBlob(bytes, column, blobs);
  if (read.byteLength !== length * width)
    throw new UnreadableTable(
      `${column}: ${length} elements take ${length * width} bytes, and ${read.byteLength} are on record`,
      `leave the column ${column} out; \`espalier verify\` names what is damaged`,
    );
  return { bytes: read };
}

async function readBlob({ blob }: BlobRef, column: string, blobs: RowSources['blobs']): Promise<Uint8Array> {
  try {
    return await blobs.get(blob);
  } catch (error) {
    if (!(error instanceof BlobMissing || error instanceof BlobCorrupt)) throw error;
    throw new UnreadableTable(
      `${column}: the blob store does not hold ${blob} as it was appended`,
      `restore it from a copy, or leave the column ${column} out`,
      error,
    );
  }
}
