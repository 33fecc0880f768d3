import type { Database } from '../../src/postgres/database.ts';

export interface FoundColumn {
  readonly table: string;
  readonly column: string;
  /** As Postgres writes it: `double precision`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly hasDefault: boolean;
  /** The place in the primary key, from 1. */
  readonly keyPlace: number | null;
  /** The texts that a check allows, where one lists them. */
  readonly values: readonly string[] | null;
}

/** Reads the columns of a schema's tables, in the order in which the SQL makes them. */
export async function readColumns(pool: Database['pool'], schema: string): Promise<readonly FoundColumn[]> {
  const { rows } = await pool.query<Omit<FoundColumn, 'values'> & { check: string | null }>(
    `select t.relname as table, c.attname as column, format_type(c.atttypid, c.atttypmod) as type, not c.attnotnull as nullable,
            c.atthasdef or c.attidentity <> '' as "hasDefault", array_position(k.conkey, c.attnum) as "keyPlace",
            (select pg_get_constraintdef(v.oid) from pg_constraint v
             where v.conrelid = t.oid and v.contype = 'c' and v.conkey = array[c.attnum] limit 1) as check
     from pg_class t join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
     left join pg_constraint k on k.conrelid = t.oid and k.contype = 'p'
     where t.relnamespace = $1::regnamespace and t.relkind = 'r' and t.relname <> 'migrations'
     order by t.oid, c.attnum`,
    [schema],
  );
  return rows.map(({ check, ...found }) => ({ ...found, values: check === null ? null : listedIn(check) }));
}

/** Reads `CHECK ((kind = ANY (ARRAY['gap'::text, 'reordered'::text])))`. */
function listedIn(check: string): readonly string[] | null {
  const list = /= ANY \(ARRAY\[(.*)\]\)/.exec(check)?.[1];
  return list === undefined ? null : [...list.matchAll(/'([^']*)'::text/g)].map(([, value]) => value ?? '');
}
