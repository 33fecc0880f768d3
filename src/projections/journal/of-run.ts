import { type RawBuilder, sql } from 'kysely';

/**
 * The condition that an event, of `events` under an alias, is of a run. The index has a hash of the run's id; the id itself
 * leaves out runs of the same hash.
 */
export function ofRun(events: string, runId: RawBuilder<unknown> | string): RawBuilder<unknown> {
  const of = sql.ref(`${events}.correlation_id`);
  const run = sql`${runId}::uuid`;
  return sql`(uuid_hash(${of}) = uuid_hash(${run}) and ${of} = ${run})`;
}
