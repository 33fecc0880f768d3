import type { BlobStore } from '../../blobs/blob-store.ts';
import { RowsError } from './batch-rows.ts';

/** Rows are only read. */
export type BlobReader = Pick<BlobStore, 'get'>;

/** Reads a payload of the record. @throws RowsError `blob` that says what it is a part of and what to do. */
export async function readBlob(blobs: BlobReader, sha256: string, what: string): Promise<Uint8Array> {
  try {
    return await blobs.get(sha256);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RowsError(
      'blob',
      `${what} lies in the blob store as ${sha256} and cannot be read: ${why}; restore the blob folder`,
      {
        cause,
      },
    );
  }
}

type References = Readonly<Record<string, { readonly blob: string }>>;
interface WithBlobs {
  readonly blobs: References | null;
}

/** Puts the large texts of rows into their fields. @throws RowsError `blob`. */
export async function inPlace<Row extends WithBlobs>(
  rows: readonly Row[],
  blobs: BlobReader,
  whatOf: (row: Row) => string,
): Promise<readonly Row[]> {
  if (rows.every((row) => row.blobs === null)) return rows;
  const whole: Row[] = [];
  for (const row of rows) whole.push(row.blobs === null ? row : await withTexts(row, row.blobs, blobs, whatOf(row)));
  return whole;
}

async function withTexts<Row extends WithBlobs>(row: Row, large: References, blobs: BlobReader, what: string): Promise<Row> {
  const texts: Record<string, string> = {};
  for (const [field, { blob }] of Object.entries(large))
    texts[field] = Buffer.from(await readBlob(blobs, blob, `${field} of ${what}`)).toString('utf8');
  return { ...row, ...texts }; // `blobs` names text fields of the row only
}
