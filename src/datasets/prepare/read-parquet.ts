import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { decompress as unzstd } from 'fzstd';
import { asyncBufferFromFile, type Compressors, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { DatasetError, reasonOf } from '../dataset-error.ts';

/** hyparquet itself reads plain and Snappy pages, which is what most published files are; these are the others that occur. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes) => new Uint8Array(gunzipSync(bytes)),
  BROTLI: (bytes) => new Uint8Array(brotliDecompressSync(bytes)),
  ZSTD: (bytes) => unzstd(bytes),
};

/**
 * Reads the rows of a Parquet file, one row group at a time, and of each only the columns that are asked for and there. Integers of 64 bits come
 * as bigint. @throws DatasetError `cannot-read` that names the file.
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
      const rows = await parquetReadObjects({ file, metadata, columns: wanted, rowStart, rowEnd, compressors: COMPRESSORS });
      yield* rows;
      rowStart = rowEnd;
    }
  } catch (cause) {
    throw new DatasetError('cannot-read', `cannot read ${path} as Parquet: ${reasonOf(cause)}; the file may be incomplete`, {
      cause,
    });
  }
}
