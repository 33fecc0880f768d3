import { BlobCorrupt, BlobMissing, type BlobStore } from '../../../blobs/blob-store.ts';
import type { BlobRef, Packed } from '../../../events/schemas/values.ts';
import { camelCase } from '../../../postgres/camel-case.ts';
import type { Blobs } from '../../../postgres/column-types.ts';
import type { Db } from '../../../postgres/database.ts';
import { forgottenAmong } from '../../../postgres/stream-keys.ts';
import type { Row } from '../../../projections/tables/read-weighed.ts';
import type { ColumnType, TableColumn } from '../../../projections/tables/table-column.ts';
import type { Elements } from './arrow-columns.ts';

/** What the record names and the server cannot read: the rows before it are whole. */
export class UnreadableTable extends Error {
  override readonly name = 'UnreadableTable';
  readonly remedy: string;
  constructor(message: string, remedy: string, cause?: unknown) {
    super(message, { cause });
    this.remedy = remedy;
  }
}

export interface RowSources {
  /** The database for keys of streams, which no project has to itself. */
  readonly keys: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
}

/**
 * Returns rows with what does not lie in their table: large texts, elements of packed arrays, and what is forgotten, whose
 * columns are null. @throws UnreadableTable.
 */
export async function wholeRows(
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
    if (!(error instanceof BlobMissing || error instanceof BlobCorrupt)) throw error;
    throw new UnreadableTable(
      `${column}: the blob store does not hold ${blob} as it was appended`,
      `restore it from a copy, or leave the column ${column} out`,
      error,
    );
  }
}
