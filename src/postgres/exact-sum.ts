import { type RawBuilder, sql } from 'kysely';

/**
 * Sums doubles exactly, as the decimals that they are written as, and rounds once: equal values have equal sums in whatever order
 * rows are read. `sumAmounts` of the domain comes to the same.
 */
export function exactSum(column: RawBuilder<unknown>): RawBuilder<number> {
  return sql`sum(${column}::text::numeric)::float8`;
}
