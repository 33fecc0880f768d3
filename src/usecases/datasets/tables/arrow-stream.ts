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
      const children: Data<DataType>[] = columns.map(({ name, type }) => {
        const property = camelCase(name);
        return COLUMN_DATA[type](rows.map((row) => row[property] ?? null));
      });
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

type ToData = (values: readonly unknown[]) => Data<DataType>;

/** Makes the data of a column from the values that its statement returned; null is null. */
const COLUMN_DATA: Readonly<Record<ColumnType, ToData>> = {
  utf8: (values) => texts(values as readonly (string | null)[]),
  bool: (values) => {
    const bits = new Uint8Array(bytesOf(values.length));
    for (let i = 0; i < values.length; i++) if (values[i] === true) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
    return makeData({ type: new Bool(), length: values.length, ...nulls(values), data: bits });
  },
  int32: (values) => numbers(new Int32(), values, new Int32Array(values.length)),
  float64: (values) => numbers(new Float64(), values, new Float64Array(values.length)),
  int64: (values) => makeData({ type: new Int64(), length: values.length, ...nulls(values), data: bigints(values) }),
  instant: (values) =>
    makeData({ type: new TimestampMicrosecond('UTC'), length: values.length, ...nulls(values), data: bigints(values) }),
  int32s: (values) => packed(values, Int32Array, (length, data) => makeData({ type: new Int32(), length, nullCount: 0, data })),
  float32s: (values) =>
    packed(values, Float32Array, (length, data) => makeData({ type: new Float32(), length, nullCount: 0, data })),
  uint8s: (values) => packed(values, Uint8Array, (length, data) => makeData({ type: new Uint8(), length, nullCount: 0, data })),
  texts: (values) => {
    const lists = values as readonly (readonly string[] | null)[];
    return list(new Utf8(), lists, texts(lists.flatMap((each) => each ?? [])));
  },
  amounts: (values) => {
    const lists = values.map((value) => (value === null ? null : Object.entries(value as Readonly<Record<string, number>>)));
    const all = lists.flatMap((each) => each ?? []);
    const children = [
      texts(all.map(([component]) => component)),
      numbers(
        new Float64(),
        all.map(([, value]) => value),
        new Float64Array(all.length),
      ),
    ];
    return list(
      new Struct(AMOUNT),
      lists,
      makeData({ type: new Struct(AMOUNT), length: all.length, nullCount: 0, children: children as Data<DataType>[] }),
    );
  },
};

/** Elements of a packed array, as they lie in the record: little-endian, as Arrow has them. */
export interface Elements {
  readonly bytes: Uint8Array;
}

function numbers<T extends Int32 | Float64>(
  type: T,
  values: readonly unknown[],
  data: T['TArray'] & Record<number, number>,
): Data<DataType> {
  for (let i = 0; i < values.length; i++) data[i] = Number(values[i] ?? 0);
  return makeData({ type, length: values.length, ...nulls(values), data } as unknown as Parameters<typeof makeData>[0]);
}

function bigints(values: readonly unknown[]): BigInt64Array {
  return BigInt64Array.from(values, (value) => BigInt((value as number | null) ?? 0));
}

function texts(values: readonly (string | null)[]): Data<DataType> {
  const valueOffsets = new Int32Array(values.length + 1);
  let length = 0;
  for (let i = 0; i < values.length; i++) {
    length += Buffer.byteLength(values[i] ?? '');
    valueOffsets[i + 1] = length;
  }
  const data = Buffer.allocUnsafe(length);
  for (let i = 0; i < values.length; i++) data.write(values[i] ?? '', valueOffsets[i] ?? 0);
  return makeData({ type: new Utf8(), length: values.length, ...nulls(values), valueOffsets, data });
}

function list(type: DataType, values: readonly ({ readonly length: number } | null)[], child: Data<DataType>): Data<DataType> {
  const valueOffsets = new Int32Array(values.length + 1);
  for (let i = 0; i < values.length; i++) valueOffsets[i + 1] = (valueOffsets[i] ?? 0) + (values[i]?.length ?? 0);
  return makeData({ type: item(type), length: values.length, ...nulls(values), valueOffsets, child });
}

interface ElementArray<A> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): A;
}

function packed<A extends Int32Array | Float32Array | Uint8Array>(
  values: readonly unknown[],
  array: ElementArray<A>,
  dataOf: (length: number, data: A) => Data<DataType>,
): Data<DataType> {
  const all = (values as readonly (Elements | null)[]).map((value) => value?.bytes ?? null);
  const bytes = new Uint8Array(all.reduce((sum, each) => sum + (each?.byteLength ?? 0), 0)); // a copy begins at an element
  let at = 0;
  for (const each of all) {
    if (each) bytes.set(each, at);
    at += each?.byteLength ?? 0;
  }
  const width = array.BYTES_PER_ELEMENT;
  const child = dataOf(bytes.byteLength / width, new array(bytes.buffer));
  return list(
    child.type,
    all.map((each) => each && { length: each.byteLength / width }),
    child,
  );
}

function nulls(values: readonly unknown[]): { readonly nullCount: number; readonly nullBitmap?: Uint8Array } {
  let nullCount = 0;
  for (let i = 0; i < values.length; i++) if (values[i] === null) nullCount++;
  if (nullCount === 0) return { nullCount };
  const nullBitmap = new Uint8Array(bytesOf(values.length));
  for (let i = 0; i < values.length; i++) if (values[i] !== null) nullBitmap[i >> 3] = (nullBitmap[i >> 3] ?? 0) | (1 << (i & 7));
  return { nullCount, nullBitmap };
}

function bytesOf(bits: number): number {
  return Math.ceil(bits / 8);
}
