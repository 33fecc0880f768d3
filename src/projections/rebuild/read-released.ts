import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Place } from '../place.ts';

/** Reads the events that a version before this one released at a place, each with the time of its first release. */
export async function readReleasedAt(
  db: Db,
  { topic, partition, offset }: Place,
): Promise<readonly { readonly stream: string; readonly body: Buffer; readonly at: Date }[]> {
  const { rows } = await sql<{ stream: string; body: Buffer; at: Date }>`
    select stream, body, min(released_at) as at from public.quarantine
    where topic = ${topic} and partition = ${partition} and "offset" = ${offset} and released_at is not null and event_id is not null
    group by stream, body`.execute(db);
  return rows;
}

/**
 * Reads what the journal holds of a stream behind an offset of its partition, in log order, but for the offsets left out and what
 * waits for a live projection.
 */
export async function readStreamBehind(
  db: Db,
  { stream, topic, partition, offset }: Place & { readonly stream: string },
  leftOut: readonly number[],
): Promise<readonly { readonly offset: number; readonly body: string; readonly at: Date }[]> {
  const { rows } = await sql<{ offset: number; body: string; at: Date }>`
    select e."offset", e.body, e.occurred_at as at from events e
    where e.stream = ${stream}::uuid and e.topic = ${topic} and e.partition = ${partition} and e."offset" > ${offset}
      and e."offset" <> all(${[...leftOut]}::bigint[])
      and not exists (select from public.quarantine q where q.event_id = e.event_id and q.stream = e.stream::text and q.released_at is null
        and q.projection in (select name from public.projections))
    order by e."offset"`.execute(db);
  return rows;
}
