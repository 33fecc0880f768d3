import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decompress as unzstd } from 'fzstd';
import { asyncBufferFromFile, type Compressors, parquetMetadataAsync, parquetReadObjects, snappyUncompress } from 'hyparquet';
import { DatasetError, reasonOf } from '../dataset-error.ts';

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
