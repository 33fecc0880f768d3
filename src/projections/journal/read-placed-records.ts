import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A record of the journal at a place where a fold of the log meets it: where it was appended, or where it was released. */
export interface PlacedRecord {
  readonly stream: string;
  readonly body: string;
  /** A live projection set it aside at this place, or it repeats a fact of an event before it, which alone takes effect. */
  readonly refused: boolean;
}

/**
 * Reads the records of streams, by stream and in the order of the log. A record that was released from a quarantine is there a
 * second time, at the place of its release.
 */
export async function readPlacedRecords(db: Db, streams: readonly string[]): Promise<readonly PlacedRecord[]> {
  const { rows } = await sql<PlacedRecord>`
    select p.stream, p.body, coalesce(q.refused, false) or p.repeats as refused
    from (
      select e.stream, e.topic, e.partition, e."offset", e.body, a.kind is not null as repeats
      from events e left join anomalies a
        on (a.topic, a.partition, a."offset", a.kind) = (e.topic, e.partition, e."offset", 'duplicate')
      where e.stream = any(${[...streams]}::uuid[])
      union all
      select stream, r.topic, r.partition, r."offset", e.body, false
      from quarantine_releases r join events e using (event_id, stream)
      where r.stream = any(${[...streams]}::uuid[]) and (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset")
    ) p
    left join (
      select distinct topic, partition, "offset", true as refused
      from quarantine where stream = any(${[...streams]}::text[]) and projection in (select name from projections)
    ) q using (topic, partition, "offset")
    order by p.stream, topic, partition, "offset"`.execute(db);
  return rows;
}
