import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join, relative, sep } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decompress as unzstd } from 'fzstd';
import { asyncBufferFromFile, type Compressors, parquetMetadataAsync, parquetReadObjects, snappyUncompress } from 'hyparquet';
import { openSha256 } from '../../../digest/sha256.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import { readRawRows } from '../import/read-rows.ts';
import type { BadRow, RowReader } from './recipe.ts';

interface SourceRow<Row> {
  /** Where it is, in the words of an error: file, row from 0, and the line in a text file. */
  readonly place: string;
  readonly row: Row | BadRow;
}

/** What a file was, once it is read to its end. */
export interface ReadFile {
  readonly name: string;
  readonly side: SourceFile['side'];
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the rows of one file, and at its end returns what the file was. In memory bounded by a row, or by a row group
 * of a few columns.
 */
export async function* readSource<Row>(
  file: SourceFile,
  reader: RowReader<Row>,
  onEnd: (file: ReadFile) => void = () => undefined,
): AsyncGenerator<SourceRow<Row>> {
  let rows = 0;
  const hash = openSha256();
  if (file.format === 'parquet') {
    for await (const value of readParquet(file.path, reader.columns)) {
      yield { place: `${file.path} row ${rows}`, row: reader.parse(value) };
      rows += 1;
    }
    // read by columns, it passed by in no order of its own
    for await (const chunk of createReadStream(file.path)) hash.update(chunk);
  } else {
    for await (const { line, bytes } of readRawRows(file.path, hash)) {
      yield { place: `${file.path} line ${line}, row ${rows}`, row: parseText(bytes, reader) };
      rows += 1;
    }
  }
  const { size } = await stat(file.path);
  onEnd({ name: file.name, side: file.side, rows, bytes: size, sha256: hash.digest('hex') });
}

function parseText<Row>(bytes: Buffer, reader: RowReader<Row>): Row | BadRow {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    return { kind: 'bad', field: 'the row', problem: `is not UTF-8 JSON: ${reasonOf(cause)}` };
  }
  return reader.parse(value);
}

const PAGE_BYTES = 256 * 2 ** 20; // writers make pages of 1 MiB, some put a whole row group into one

/**
 * The codecs that occur in published files. A page says how long it is when it is inflated: what says too much is refused before,
 * and what expands to more than it declares is stopped there, since some bytes of gzip may expand to gigabytes.
 */
const COMPRESSORS: Compressors = {
  SNAPPY: (bytes, size) => {
    if (size === 0) return new Uint8Array(); // a page of nulls alone, as our own files have them
    const page = new Uint8Array(bounded(size));
    snappyUncompress(bytes, page);
    return page;
  },
  GZIP: (bytes, size) => new Uint8Array(gunzipSync(bytes, { maxOutputLength: bounded(size) })),
  BROTLI: (bytes, size) => new Uint8Array(brotliDecompressSync(bytes, { maxOutputLength: bounded(size) })),
  ZSTD: (bytes, size) => unzstd(bytes, new Uint8Array(bounded(size))),
};

function bounded(size: number): number {
  if (size >= 0 && size <= PAGE_BYTES) return Math.max(1, size);
  throw new RangeError(`a page says that it takes ${size} bytes, the limit is ${PAGE_BYTES}`);
}

/** Lists the columns of a Parquet file that hold anything, as far as it says. @throws DatasetError `cannot-read`. */
export async function filledColumns(path: string): Promise<readonly string[]> {
  try {
    const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const filled = groups
      .flatMap(({ columns }) => columns.flatMap(({ meta_data }) => meta_data ?? []))
      .filter(({ statistics, num_values }) => statistics?.null_count === undefined || statistics.null_count < num_values);
    return [...new Set(filled.flatMap(({ path_in_schema: [name] }) => name ?? []))];
  } catch (cause) {
    throw cannotRead(path, cause);
  }
}

/**
 * Reads the rows of a Parquet file, one row group at a time, and of each only the columns that are asked for and there. Integers
 * of 64 bits come as bigint. @throws DatasetError `cannot-read` that names the file.
 */
export async function* readParquet(path: string, columns: readonly string[]): AsyncGenerator<Readonly<Record<string, unknown>>> {
  try {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    const known = new Set(metadata.row_groups[0]?.columns.map(({ meta_data }) => meta_data?.path_in_schema[0]));
    const wanted = columns.filter((column) => known.has(column));
    let rowStart = 0;
    for (const { num_rows } of metadata.row_groups) {
      const rowEnd = rowStart + Number(num_rows);
      const rows = await parquetReadObjects({
        file,
        metadata,
        columns: wanted,
        rowStart,
        rowEnd,
        compressors: COMPRESSORS,
      });
      yield* rows;
      rowStart = rowEnd;
    }
  } catch (cause) {
    throw cannotRead(path, cause);
  }
}

function cannotRead(path: string, cause: unknown): DatasetError {
  return new DatasetError('cannot-read', `cannot read ${path} as Parquet: ${reasonOf(cause)}; the file may be incomplete`, {
    cause,
  });
}

/** A file of a data set, and which side of the split its name puts it on. */
export interface SourceFile {
  readonly path: string;
  /** Relative to the folder that was named: what the manifest calls it. */
  readonly name: string;
  readonly format: 'json' | 'parquet';
  readonly side: 'train' | 'test' | 'unsplit';
}

interface SourceFiles {
  readonly files: readonly SourceFile[];
  /** Files of a format that is read whose names say no split: `dataset_infos.json`, `id_aliases.json`. */
  readonly passedOver: readonly string[];
}

const FORMATS: Readonly<Record<string, SourceFile['format']>> = { '.json': 'json', '.jsonl': 'json', '.parquet': 'parquet' };
const DEPTH = 4; // folders below the one named: Parquet files lie in `main/` or `data/`

/**
 * Finds the files of a data set: the one that is named, or those of a folder whose names say `train`, `dev`, `valid` or `test`,
 * in the order of their names. @throws DatasetError `cannot-read` when there is none.
 */
export async function findSourceFiles(from: string): Promise<SourceFiles> {
  const there = await stat(from).catch((cause) => {
    throw new DatasetError(
      'cannot-read',
      `cannot read ${from}: ${codeOf(cause) === 'ENOENT' ? 'there is nothing of that name' : reasonOf(cause)}`,
      {
        cause,
      },
    );
  });
  if (!there.isDirectory()) {
    const format = FORMATS[extname(from).toLowerCase()];
    if (format === undefined)
      throw new DatasetError('cannot-read', `cannot read ${from}: it ends in none of ${Object.keys(FORMATS).join(', ')}`);
    return { files: [{ path: from, name: basename(from), format, side: sideOf(basename(from)) }], passedOver: [] };
  }
  const files: SourceFile[] = [];
  const passedOver: string[] = [];
  for (const path of await listFiles(from, DEPTH)) {
    const format = FORMATS[extname(path).toLowerCase()];
    const name = relative(from, path).split(sep).join('/');
    const side = sideOf(basename(path));
    if (format === undefined) continue;
    if (side === 'unsplit') passedOver.push(name);
    else files.push({ path, name, format, side });
  }
  if (files.length === 0)
    throw new DatasetError(
      'cannot-read',
      `${from} holds no .json, .jsonl or .parquet file whose name says train, dev, valid or test; name the file itself`,
    );
  return { files, passedOver };
}

function sideOf(name: string): SourceFile['side'] {
  if (/train/i.test(name)) return 'train';
  return /(^|[^a-z])(dev|val|valid|validation|test)([^a-z]|$)/i.test(name) ? 'test' : 'unsplit';
}

async function listFiles(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1)); // by code units: the same order on every machine
  const paths: string[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 0) for (const each of await listFiles(path, depth - 1)) paths.push(each);
    else if (entry.isFile() || entry.isSymbolicLink()) paths.push(path);
  }
  return paths;
}
