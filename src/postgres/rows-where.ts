import { type Kysely, type Selectable, type SelectExpression, type Selection, sql } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

type RowOf<Name extends keyof Tables> = Selectable<Tables[Name]>;
/** Of each column one value, or one of several; none at all of an empty list. */
type Where<Row> = { readonly [Column in keyof Row]?: Row[Column] | readonly Row[Column][] | ReadonlySet<Row[Column]> };

/** Reads columns of the rows of a table that have the values. A list is one parameter, however long it is. */
export function rowsWhere<Name extends keyof Tables & string, Column extends SelectExpression<Tables, Name> & string>(
  db: Db,
  table: Name,
  where: Where<RowOf<Name>>,
  columns: readonly Column[],
  order: readonly (keyof RowOf<Name> & string)[] = [],
): Promise<Selection<Tables, Name, Column>[]> {
  const rows = chosen(db, table, where, order)
    .select(columns as readonly string[])
    .execute();
  return rows as Promise<unknown> as Promise<Selection<Tables, Name, Column>[]>;
}

/** Reads the rows of a table that have the values, with every column. */
export function wholeRowsWhere<Name extends keyof Tables & string>(
  db: Db,
  table: Name,
  where: Where<RowOf<Name>>,
  order: readonly (keyof RowOf<Name> & string)[] = [],
): Promise<RowOf<Name>[]> {
  return chosen(db, table, where, order).selectAll().execute() as Promise<unknown> as Promise<RowOf<Name>[]>;
}

/** The parameters of its callers are checked; the builder itself cannot check columns of a table that is one of all. */
function chosen(db: Db, table: string, where: object, order: readonly string[]) {
  const rows = (db as unknown as Kysely<Record<'rows', Record<string, unknown>>>).selectFrom(table as 'rows');
  const conditions = Object.entries<unknown>({ ...where }).map(([column, value]) => {
    const [of, values] = [sql.ref(column), value instanceof Set ? [...value] : value];
    if (values === null) return sql<boolean>`${of} is null`;
    return Array.isArray(values) ? sql<boolean>`${of} = any(${values})` : sql<boolean>`${of} = ${values}`;
  });
  const some = rows.where((eb) => eb.and(conditions));
  return order.reduce((query, column) => query.orderBy(column), some);
}
