import { type RawBuilder, sql } from 'kysely';

const hash = (id: RawBuilder<unknown>, seed: number) => sql`(uuid_hash_extended(${id}, ${sql.lit(seed)}) >> 32)::integer`;

/** Sums of two hashes of the ids of steps: two sets of as many steps with the same sums hold the same steps. */
export function idSums(stepId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`sum(${hash(stepId, 0)}) as ids_one, sum(${hash(stepId, 1)}) as ids_other`;
}
