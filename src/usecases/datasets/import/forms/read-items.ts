import { type Sha256, updateFromFile } from '../../../../digest/sha256.ts';
import { filledColumns, readParquet } from '../../prepare/read-source.ts';
import type { ParsedItem, RowNote } from '../agent-traj-item.ts';
import { type NonFinite, type ParsedRow, readParsedRows } from '../read-rows.ts';
import { type ItemOfFile, isObject, itemOfRow } from './item-of-file.ts';
import { isParquet } from './verl-steps.ts';

/**
 * Reads an item of each row of a file; one that is not JSON is refused as one without its fields is. Of Parquet only `columns` are
 * read; another column that holds anything is noted once, with the first row that is taken.
 */
export async function* readItems(
  path: string,
  hash: Sha256 | undefined,
  columns: readonly string[],
  parse: (value: unknown) => ParsedItem,
): AsyncGenerator<ItemOfFile> {
  const filled = (await isParquet(path)) ? await filledColumns(path) : [];
  let unread = filled.filter((name) => !columns.includes(name)).map((field): RowNote => ({ kind: 'column-not-read', field }));
  for await (const row of readFileRows(path, columns, hash)) {
    const parsed = row.kind === 'refused' ? row : itemOfRow(parse(row.value), row.value, unread);
    if (parsed.kind === 'episode') unread = [];
    yield { line: row.line, parsed };
  }
}

/**
 * Reads the rows of a file of JSON or of Parquet, there with their numbers as lines. @param columns of Parquet. @param hash is fed
 * every byte.
 */
export async function* readFileRows(
  path: string,
  columns: readonly string[],
  hash?: Sha256,
  nonFinite: NonFinite = 'refuse',
): AsyncGenerator<ParsedRow> {
  if (!(await isParquet(path))) {
    yield* readParsedRows(path, hash, nonFinite);
    return;
  }
  if (hash) await updateFromFile(hash, path);
  let line = 0;
  for await (const row of readParquet(path, columns)) yield { kind: 'row', line: ++line, value: asJson(row) };
}

/** A value of a column as JSON has it: Parquet yields integers of 64 bits as bigint, and times as dates. */
function asJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asJson);
  if (!isObject(value) || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, asJson(held)]));
}
