import { text } from 'node:stream/consumers';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { RecordPart } from './record-file.ts';
import { linesOf, rowsOf } from './restore-record.ts';

/** How a table of an old record and the same table of another database compare, over the columns that both have. */
export interface ComparedTable {
  readonly table: string;
  readonly rows: number;
  /** Columns of the old table that the other one does not have. */
  readonly gone: readonly string[];
  /** Rows that only one of them has. */
  readonly onlyOld: readonly string[];
  readonly onlyNew: readonly string[];
}

/**
 * Compares every table of projections that an old record holds with what the views in `public` show, as sets of rows in the text
 * form of COPY.
 */
export async function compareTables(parts: readonly RecordPart[], client: pg.ClientBase): Promise<readonly ComparedTable[]> {
  const compared: ComparedTable[] = [];
  for (const part of parts) {
    if (part.kind !== 'rows' || part.table.startsWith('public.')) continue;
    const table = part.table.replace(/^[^.]+\./, '');
    const { rows: columns } = await client.query<{ name: string }>(
      "select column_name as name from information_schema.columns where table_schema = 'public' and table_name = $1",
      [table],
    );
    const kept = part.columns.filter((column) => columns.some(({ name }) => name === column));
    const before = rowsOf(parts, part.table).map((row) => kept.map((column) => row[column]).join('\t'));
    const list = kept.map((column) => `"${column}"`).join(', ');
    const now = linesOf(await text(client.query(copyTo(`copy (select ${list} from public."${table}") to stdout`))));
    compared.push({
      table,
      rows: before.length,
      gone: part.columns.filter((column) => !kept.includes(column)),
      onlyOld: without(before, now),
      onlyNew: without(now, before),
    });
  }
  return compared;
}

function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return some.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
