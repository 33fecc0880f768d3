import { RecordBatchReader, type Schema } from 'apache-arrow';

/** A table as a client reads it: rows by column name, in order, and where each batch ended. */
export interface ReadTable {
  readonly schema: Schema;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** The metadata of each batch, and how many rows it had. */
  readonly batches: readonly { readonly rows: number; readonly metadata: Readonly<Record<string, string>> }[];
  /** `end`, `limit`, or undefined where it broke. */
  readonly end: string | undefined;
  readonly error: string | undefined;
}

/** Reads an Arrow stream, or what arrived of one. */
export function readTable(bytes: Uint8Array): ReadTable {
  const reader = RecordBatchReader.from(bytes).open();
  const rows: Record<string, unknown>[] = [];
  const batches: { rows: number; metadata: Record<string, string> }[] = [];
  const { schema } = reader;
  try {
    for (const batch of reader) {
      batches.push({ rows: batch.numRows, metadata: Object.fromEntries(batch.metadata) });
      for (const row of batch) rows.push(plain(row?.toJSON() ?? {}));
    }
  } catch (error) {
    if (!/^Expected to read/.test(String(error instanceof Error ? error.message : error))) throw error; // it was cut there
  }
  const last = batches.at(-1)?.metadata;
  return { schema, rows, batches, end: last?.['espalier.end'], error: last?.['espalier.error'] };
}

/** Lists as arrays, whole numbers of 64 bits as numbers. */
function plain(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plainValue(value)]));
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Symbol.iterator in value && 'length' in value) return Array.from(value as Iterable<unknown>, plainValue);
  return 'toJSON' in value ? plain((value as { toJSON(): Record<string, unknown> }).toJSON()) : value;
}
