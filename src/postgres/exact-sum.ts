import { type RawBuilder, sql } from 'kysely';

/**
 * Sums doubles exactly, as the decimals that they are written as, and rounds once: equal values have equal sums in whatever order
 * rows are read. `sumAmounts` of the domain comes to the same.
 */
export function exactSum(column: RawBuilder<unknown>): RawBuilder<number> {
  return rounded(sql`sum(${column}::text::numeric)`);
}

/** The mean of doubles, as `meanAmount` of the domain: of equal ones that value, else the sum by the number; null of none. */
export function exactMean(column: RawBuilder<unknown>): RawBuilder<number | null> {
  // below half of the least double the division is an error
  return sql`(
    case when min(${column}) = max(${column}) then min(${column})::float8
    when abs(avg(${column}::text::numeric)) < 3e-324 then 0
    else ${exactSum(column)} / count(${column}) end)`;
}

/** The population variance of doubles, by the same rule: 0 of equal values. */
export function exactVariance(column: RawBuilder<unknown>): RawBuilder<number> {
  return rounded(sql`var_pop(${column}::text::numeric)`);
}

function rounded(decimal: RawBuilder<unknown>): RawBuilder<number> {
  return sql`(case when abs(${decimal}) < 5e-324 then 0 else ${decimal}::float8 end)`; // below the least double the cast is an error
}
