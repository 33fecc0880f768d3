import { sql } from 'kysely';
import { recordset, typesOf } from '../../postgres/bulk.ts';
import { snakeCase } from '../../postgres/camel-case.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row, Table } from '../../postgres/table.ts';

/** One fact about a row: the part of its columns that one event says, together. */
export interface Part<T extends Table, Name extends string> {
  readonly part: Name;
  /** The columns of the primary key. */
  readonly key: Partial<Row<T>>;
  readonly values: Partial<Row<T>>;
}

/** Part → its columns. The first is never null: where it is set, the part was said. A column of no part is said alike by all. */
type PartColumns<T extends Table, Name extends string> = Readonly<Record<Name, readonly (keyof Row<T> & string)[]>>;

/**
 * Writes rows whose parts are said by different events, in any order and any number of times: the first that says a part is the
 * fact. One statement writes what begins and ends within a batch once, whole.
 */
export async function mergeRows<T extends Table, Name extends string>(
  trx: Trx,
  table: T,
  incoming: readonly Part<T, Name>[],
  parts: PartColumns<T, Name>,
): Promise<void> {
  const [first] = incoming;
  if (first === undefined) return;
  const rows = new Map<string, Record<string, unknown>>();
  const said = new Set<string>();
  for (const { part, key, values } of incoming) {
    const id = table.key.map((column) => (key as Record<string, unknown>)[column]).join(' '); // it names these
    if (said.has(`${part} ${id}`)) continue;
    said.add(`${part} ${id}`);
    rows.set(id, { ...key, ...values, ...rows.get(id) });
  }
  const sets = Object.values<readonly string[]>(parts).flatMap((columns) =>
    columns
      .map(snakeCase)
      .map(
        (column, _, [marker]) =>
          `${column} = case when ${table.name}.${marker} is null then excluded.${column} else ${table.name}.${column} end`,
      ),
  );
  const types = typesOf(table, [
    ...new Set([...table.key, ...Object.keys(first.values), ...Object.values<readonly string[]>(parts).flat()]),
  ]);
  const names = sql.raw(Object.keys(types).map(snakeCase).join(', '));
  await sql`
    insert into ${sql.raw(table.name)} (${names}) select ${names} from ${recordset([...rows.values()], types)}
    on conflict (${sql.raw(table.key.map(snakeCase).join(', '))}) do update set ${sql.raw(sets.join(', '))}`.execute(trx);
}
