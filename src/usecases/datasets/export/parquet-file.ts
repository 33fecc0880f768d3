import type { SchemaElement } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import { fitsFloat32 } from '../../../domain/float32.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ByteSink } from './format.ts';

const ROWS_PER_GROUP = 1_024;
const BYTES_PER_GROUP = 16 * 1024 * 1024; // of text and tokens: what is held before a row group goes to the file

/** The columns of a file, and the name and version of their meaning, which is in its footer as `espalier.schema`. */
export interface ParquetShape {
  readonly columns: readonly Column[];
  readonly name: string;
}

/** One column of a schema with all that is nested in it, in the order of the file's footer. */
export type Column = SchemaElement[];

/**
 * Writes rows as Parquet (Snappy), a bounded row group at a time, and goes on in another file where its sink says that one is
 * full. A row has a value under the name of every top column.
 */
export class ParquetFile {
  readonly #sink: ByteSink;
  readonly #shape: ParquetShape;
  readonly #floats: readonly (readonly string[])[];
  #parquet: ParquetWriter;
  #rows: Readonly<Record<string, unknown>>[] = [];
  #bytes = 0;

  constructor(sink: ByteSink, shape: ParquetShape) {
    this.#sink = sink;
    this.#shape = shape;
    this.#floats = floatPaths(shape);
    this.#parquet = openParquet(sink, shape);
  }

  /**
   * @param bytes an estimate of what the row holds in memory until its group is written. @throws DatasetError `bad-row` for a number
   * that a column of float32 does not hold.
   */
  async write(row: Readonly<Record<string, unknown>>, bytes: number): Promise<void> {
    for (const path of this.#floats) refuseBeyondFloat32(row, path);
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
    const columnData = this.#shape.columns.map(([top]): ColumnSource => {
      const name = top?.name ?? '';
      return { name, data: rows.map((row) => row[name]), offsetIndex: false };
    });
    await this.#parquet.write({ columnData, rowGroupSize: rows.length });
  }
}

/** The paths of names to the columns of float32. */
function floatPaths({ columns }: ParquetShape): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    const open: { readonly name: string; children: number }[] = [];
    return column.flatMap(({ name, type, num_children: children = 0 }) => {
      while (open.at(-1)?.children === 0) open.pop();
      const parent = open.at(-1);
      if (parent) parent.children -= 1;
      open.push({ name, children });
      const names = open.map((each) => each.name).filter((each) => each !== 'list' && each !== 'element');
      return type === 'FLOAT' ? [names] : [];
    });
  });
}

function refuseBeyondFloat32(row: Readonly<Record<string, unknown>>, path: readonly string[]): void {
  const beyond = findBeyondFloat32(row, path);
  if (beyond === undefined) return;
  const ids = Object.entries(row).flatMap(([name, id]) =>
    /_?u?id$/.test(name) && typeof id === 'string' ? [`${name} ${id}`] : [],
  );
  throw new DatasetError(
    'bad-row',
    `${path.join('.')} of the row ${ids.join(', ')} holds ${beyond}, which is infinite in float32; revise it, or leave the row out by a filter`,
  );
}

function findBeyondFloat32(value: unknown, path: readonly string[]): number | undefined {
  if (typeof value === 'number') return fitsFloat32(value) ? undefined : value;
  if (Array.isArray(value)) {
    for (const each of value) {
      const beyond = findBeyondFloat32(each, path);
      if (beyond !== undefined) return beyond;
    }
    return undefined;
  }
  const [name, ...rest] = path;
  if (typeof value !== 'object' || value === null || name === undefined) return undefined;
  return findBeyondFloat32((value as Readonly<Record<string, unknown>>)[name], rest);
}

function openParquet(sink: ByteSink, { columns, name }: ParquetShape): ParquetWriter {
  const schema: SchemaElement[] = [{ name: 'root', num_children: columns.length }, ...columns.flat()];
  const kvMetadata = [{ key: 'espalier.schema', value: name }];
  return new ParquetWriter({ writer: new SinkWriter(sink), schema, createdBy: 'espalier', kvMetadata });
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

/** Makes a column of structs. */
export function struct(name: string, fields: readonly Column[]): Column {
  return [{ name, repetition_type: 'REQUIRED', num_children: fields.length }, ...fields.flat()];
}
/** Makes a column of lists, in the standard three levels. @param element the column named `element`. */
export function list(name: string, element: Column): Column {
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ];
}
/** Lets a column be null. */
export function optional([first, ...rest]: Column): Column {
  return first ? [{ ...first, repetition_type: 'OPTIONAL' }, ...rest] : [];
}
const scalar =
  (type: 'BYTE_ARRAY' | 'BOOLEAN' | 'INT32' | 'INT64' | 'FLOAT' | 'DOUBLE', of: Partial<SchemaElement> = {}) =>
  (name: string): Column => [{ name, type, ...of, repetition_type: 'REQUIRED' }];
export const text = scalar('BYTE_ARRAY', { converted_type: 'UTF8', logical_type: { type: 'STRING' } });
export const binary = scalar('BYTE_ARRAY');
export const boolean = scalar('BOOLEAN');
export const int32 = scalar('INT32');
/** Makes a column of 64-bit integers; its values are bigints. */
export const int64 = scalar('INT64');
export const float = scalar('FLOAT');
export const double = scalar('DOUBLE');
export const instant = scalar('INT64', { converted_type: 'TIMESTAMP_MILLIS' });

/** Makes columns that may be null. */
export function maybe(column: (name: string) => Column): (name: string) => Column {
  return (name) => optional(column(name));
}
/** Makes a column of each name. */
export function each(column: (name: string) => Column, ...names: readonly string[]): readonly Column[] {
  return names.map((name) => column(name));
}
