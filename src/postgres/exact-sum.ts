import { type RawBuilder, sql } from 'kysely';

/**
 * Sums doubles exactly, as the decimals that they are written as, and rounds once: equal values have equal sums in whatever order
 * rows are read. `sumAmounts` of the domain comes to the same.
 */
export function exactSum(column: RawBuilder<unknown>): RawBuilder<number> {
  const sum = sql`sum(${column}::text::numeric)`;
  return sql`(case when abs(${sum}) < 5e-324 then 0 else ${sum}::float8 end)`; // below the least double the cast is an error
}
