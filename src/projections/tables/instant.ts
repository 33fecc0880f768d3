import { type RawBuilder, sql } from 'kysely';

/** Returns an instant as microseconds since 1970: exact, and below 2^53 until the year 2255. */
export function microseconds(column: string): RawBuilder<unknown> {
  return sql`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`;
}
