import { sql } from 'kysely';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';

/** One fact about a row: the part of its columns that one event says, together. */
export interface Part {
  readonly part: string;
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Part → its columns with their types. `marker` is one of them that is never null: where it is set, the part was said. */
export interface PartColumns {
  /** Columns that every part says alike. */
  readonly shared: Readonly<Record<string, string>>;
  readonly parts: Readonly<Record<string, { readonly marker: string; readonly columns: Readonly<Record<string, string>> }>>;
}

/**
 * Writes rows whose parts are said by different events, in any order and any number of times: the first that says a part is the
 * fact. One statement writes what begins and ends within a batch once, whole.
 */
export async function mergeRows(
  trx: Trx,
  table: string,
  key: string,
  incoming: readonly Part[],
  { shared, parts }: PartColumns,
): Promise<void> {
  if (incoming.length === 0) return;
  const rows = new Map<string, Record<string, unknown>>();
  const said = new Set<string>();
  for (const { part, key: id, values } of incoming) {
    if (said.has(`${part} ${id}`)) continue;
    said.add(`${part} ${id}`);
    rows.set(id, { [key]: id, ...values, ...rows.get(id) });
  }
  const columns: Record<string, string> = { [key]: 'uuid', ...shared };
  const sets: string[] = [];
  for (const { marker, columns: own } of Object.values(parts)) {
    Object.assign(columns, own);
    for (const column of Object.keys(own)) {
      sets.push(`${column} = case when ${table}.${marker} is null then excluded.${column} else ${table}.${column} end`);
    }
  }
  const names = sql.raw(Object.keys(columns).join(', '));
  await sql`
    insert into ${sql.raw(table)} (${names}) select ${names} from ${recordset([...rows.values()], columns)}
    on conflict (${sql.raw(key)}) do update set ${sql.raw(sets.join(', '))}`.execute(trx);
}
