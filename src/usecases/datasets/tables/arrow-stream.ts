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
import { camelCase } from '../../../postgres/camel-case.ts';
import type { Row } from '../../../projections/tables/read-table.ts';
import type { ColumnType, TableColumn } from '../../../projections/tables/table.ts';

/** Writes rows as an Arrow IPC stream, a record batch at a time: every call returns the bytes that it adds. */
export interface ArrowStream {
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
export function openArrowStream(columns: readonly TableColumn[]): ArrowStream {
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
export interface Elements {
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
