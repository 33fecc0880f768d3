import {
  AsyncByteQueue,
  type Data,
  type DataType,
  Field,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
} from 'apache-arrow';
import { camelCase } from '../../../postgres/camel-case.ts';
import type { Row } from '../../../projections/tables/read-weighed.ts';
import type { TableColumn } from '../../../projections/tables/table-column.ts';
import { COLUMN_DATA, COLUMN_TYPES } from './arrow-columns.ts';

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
