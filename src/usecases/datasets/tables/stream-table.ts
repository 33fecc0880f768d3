import {
  AsyncByteQueue,
  Bool,
  type Data,
  type DataType,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Uint8,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { type BlobStore, isLostBlob } from '../../../blobs/blob-store.ts';
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

/** Writes rows as an Arrow IPC stream, a record batch at a time: every call returns the bytes that it adds. */
interface ArrowStream {
  /** @param metadata of the whole stream, in its schema. */
  begin(metadata: Readonly<Record<string, string>>): Uint8Array;
  /** @param metadata of this batch alone. */
  batch(rows: readonly Row[], metadata: Readonly<Record<string, string>>): Uint8Array;
  end(): Uint8Array;
}

/**
 * Opens a stream of columns. The buffers are not compressed: what JavaScript's library writes there, others do not read (the
 * length before a compressed buffer is not that of the bytes it holds). The answer as a whole is.
 */
function openArrowStream(columns: readonly TableColumn[]): ArrowStream {
  const fields = columns.map(
    ({ name, type, says }) => new Field(name, COLUMN_TYPES[type], true, new Map([['description', says]])),
  );
  const sink = new Parts();
  const writer = new RecordBatchStreamWriter({ autoDestroy: false });
  let schema = new Schema(fields);
  return {
    begin(metadata) {
      schema = new Schema(fields, new Map(Object.entries(metadata)));
      writer.reset(sink, schema);
      return sink.take();
    },
    batch(rows, metadata) {
      const children = columns.map((column) => dataOf(column, rows));
      const data = makeData({ type: new Struct(fields), length: rows.length, nullCount: 0, children });
      writer.write(new RecordBatch(schema, data, new Map(Object.entries(metadata))));
      return sink.take();
    },
    end() {
      writer.finish();
      return sink.take();
    },
  };
}

/** The queue that the library writes to, read without waiting. */
class Parts extends AsyncByteQueue {
  #parts: Uint8Array[] = [];

  override write(part: ArrayBufferLike | ArrayBufferView | string): void {
    if (!ArrayBuffer.isView(part)) throw new TypeError('the writer of streams writes views of bytes');
    this.#parts.push(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  }

  take(): Uint8Array {
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    return bytes;
  }
}

const item = <T extends DataType>(type: T) => new List(new Field('item', type, true));
const AMOUNT = [new Field('component', new Utf8(), true), new Field('value', new Float64(), true)];

/** The Arrow type of each type of column. */
const COLUMN_TYPES: Readonly<Record<ColumnType, DataType>> = {
  utf8: new Utf8(),
  bool: new Bool(),
  int32: new Int32(),
  int64: new Int64(),
  float64: new Float64(),
  instant: new TimestampMicrosecond('UTC'),
  int32s: item(new Int32()),
  float32s: item(new Float32()),
  uint8s: item(new Uint8()),
  texts: item(new Utf8()),
  amounts: item(new Struct(AMOUNT)),
};

/** Makes the data of a column from the values that its statement returned; null is null. */
function dataOf({ name, type }: TableColumn, rows: readonly Row[]): Data<DataType> {
  const property = camelCase(name);
  const values = rows.map((row) => row[property] ?? null);
  const arrow = COLUMN_TYPES[type];
  switch (type) {
    case 'int64':
      return built(arrow, values, BigInt);
    case 'instant':
      return built(new Int64(), values, BigInt).clone(arrow); // the builder of instants takes milliseconds
    case 'int32':
    case 'float64':
      return built(arrow, values, Number);
    case 'amounts':
      return built(arrow, values, (value) =>
        Object.entries(value as object).map(([component, amount]) => ({ component, value: amount })),
      );
    case 'int32s':
      return packed(arrow, values, new Int32(), Int32Array);
    case 'float32s':
      return packed(arrow, values, new Float32(), Float32Array);
    case 'uint8s':
      return packed(arrow, values, new Uint8(), Uint8Array);
    default:
      return built(arrow, values, (value) => value);
  }
}

function built(type: DataType, values: readonly unknown[], of: (value: never) => unknown): Data<DataType> {
  const all = values.map((value) => (value === null ? null : of(value as never)));
  const [data] = vectorFromArray(all, type).data;
  if (!data) throw new Error('a vector of values is one chunk');
  return data;
}

/** Elements of a packed array, as they are in the record: little-endian, as Arrow has them. */
interface Elements {
  readonly bytes: Uint8Array;
}

/** Lists of numbers, whose bytes are copied whole: the library would set them element by element. */
function packed(
  type: DataType,
  values: readonly unknown[],
  child: DataType,
  array: new (buffer: ArrayBuffer) => Int32Array | Float32Array | Uint8Array,
): Data<DataType> {
  const all = (values as readonly (Elements | null)[]).map((value) => value?.bytes ?? new Uint8Array());
  const data = new array(Uint8Array.from(Buffer.concat(all)).buffer); // a copy begins at an element
  const valueOffsets = new Int32Array(all.length + 1);
  for (const [i, { byteLength }] of all.entries())
    valueOffsets[i + 1] = (valueOffsets[i] ?? 0) + byteLength / data.BYTES_PER_ELEMENT;
  const { nullCount, nullBitmap } = built(new Bool(), values, () => true);
  return makeData({
    type: type as List,
    length: values.length,
    nullCount,
    nullBitmap,
    valueOffsets,
    child: makeData({ type: child as Int32, length: data.length, nullCount: 0, data: data as Int32Array }),
  });
}

/** What is asked of a table. */
export interface TableStreamRequest {
  readonly table: TableName;
  readonly filter: TableFilters;
  readonly columns: readonly TableColumn[];
  /** Behind which row it begins; null for the first one. */
  readonly after: string | null;
  /** How many rows at most; null for all. */
  readonly limit: number | null;
}

interface TableSources extends RowSources {
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
  { table, filter, columns, after, limit }: TableStreamRequest,
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

interface WrittenTable {
  readonly bytes: number;
  readonly sha256: string;
  /** Everything below it is in the file. */
  readonly position: string;
}

const IDLE_MS = 600_000; // a disk that is slow to sync

/** Writes a table of one snapshot as a file of an Arrow IPC stream. @throws DatasetError. */
export async function writeTable(
  { db, blobs }: { readonly db: Db; readonly blobs: Pick<BlobStore, 'get'> },
  request: TableStreamRequest,
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
    const position = formatPosition(await readTablePosition(trx, request.table, IDLE_MS));
    for await (const bytes of streamTable({ db: trx, keys: trx, blobs, unreadable: 'throw' }, request, position))
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
    if (!isLostBlob(error)) throw error;
    throw new UnreadableTable(
      `${column}: the blob store does not hold ${blob} as it was appended`,
      `restore it from a copy, or leave the column ${column} out`,
      error,
    );
  }
}
