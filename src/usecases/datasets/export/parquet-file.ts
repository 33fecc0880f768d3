import type { SchemaElement } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import type { ByteSink } from './format.ts';

const ROWS_PER_GROUP = 1_024;
const BYTES_PER_GROUP = 16 * 1024 * 1024; // of text and tokens: what is held before a row group goes to the file

/** The columns of a file, and the name and version of their meaning, which is in its footer as `espalier.schema`. */
export interface ParquetShape {
  readonly schema: SchemaElement[];
  readonly name: string;
}

/**
 * Writes rows as Parquet (Snappy), a bounded row group at a time, and goes on in another file where its sink says that one is
 * full. A row has a value under the name of every top column.
 */
export class ParquetFile {
  readonly #sink: ByteSink;
  readonly #shape: ParquetShape;
  #parquet: ParquetWriter;
  readonly #columns: readonly string[];
  #rows: Readonly<Record<string, unknown>>[] = [];
  #bytes = 0;

  constructor(sink: ByteSink, shape: ParquetShape) {
    this.#columns = topColumns(shape.schema);
    this.#sink = sink;
    this.#shape = shape;
    this.#parquet = openParquet(sink, shape);
  }

  /** @param bytes an estimate of what the row holds in memory until its group is written. */
  async write(row: Readonly<Record<string, unknown>>, bytes: number): Promise<void> {
    this.#rows.push(row);
    this.#bytes += bytes;
    if (this.#rows.length >= ROWS_PER_GROUP || this.#bytes >= BYTES_PER_GROUP) await this.#writeGroup();
  }

  /** Writes the last row group and the footer. A file without rows is a valid Parquet file. */
  async finish(): Promise<void> {
    if (this.#rows.length > 0) await this.#writeGroup();
    await this.#parquet.finish();
  }

  async #writeGroup(): Promise<void> {
    const rows = this.#rows;
    this.#rows = [];
    this.#bytes = 0;
    if (this.#sink.isFull) {
      await this.#parquet.finish();
      await this.#sink.next?.();
      this.#parquet = openParquet(this.#sink, this.#shape);
    }
    // Without page offset indexes: they stay in memory until the footer, and a row group here is one or few pages.
    const columnData = this.#columns.map(
      (name): ColumnSource => ({ name, data: rows.map((row) => row[name]), offsetIndex: false }),
    );
    await this.#parquet.write({ columnData, rowGroupSize: rows.length });
  }
}

function openParquet(sink: ByteSink, { schema, name }: ParquetShape): ParquetWriter {
  const kvMetadata = [{ key: 'espalier.schema', value: name }];
  return new ParquetWriter({ writer: new SinkWriter(sink), schema, createdBy: 'espalier', kvMetadata });
}

/** The names of the top columns: a schema lists the root, then each column with all that is below it. */
function topColumns(schema: readonly SchemaElement[]): readonly string[] {
  const names: string[] = [];
  for (let at = 1; at < schema.length; at = pastColumn(schema, at)) names.push(schema[at]?.name ?? '');
  return names;
}

function pastColumn(schema: readonly SchemaElement[], at: number): number {
  let next = at + 1;
  for (let left = schema[at]?.num_children ?? 0; left > 0; left--) next = pastColumn(schema, next);
  return next;
}

/** Hands the bytes of each finished row group to the sink and begins its buffer again. */
class SinkWriter extends ByteWriter {
  readonly #sink: ByteSink;
  constructor(sink: ByteSink) {
    super();
    this.#sink = sink;
  }
  async flush(): Promise<void> {
    await this.#sink.write(this.getBytes());
    this.index = 0;
  }
  override async finish(): Promise<void> {
    await this.flush();
  }
}
