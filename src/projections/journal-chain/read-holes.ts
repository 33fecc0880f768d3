import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Offsets of a partition, [from, to), that were passed without a trace: no event was chained there, and nothing set aside. */
export interface Hole {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Finds the offsets below the cursor of the chain of which it holds nothing. The log numbers its records without a hole. */
export async function readHoles(db: Db): Promise<readonly Hole[]> {
  const { rows } = await sql<Hole>`
    with ends as (
      select c.topic, c.partition, c.next_offset as "end"
      from cursors c join projections p on p.name = c.projection and p.version = c.version where c.projection = 'journal-chain'
    ), passed as (
      select topic, partition, unnest(offsets) as "offset" from chain_blocks
      union select topic, partition, "offset" from quarantine where projection in (select name from projections)
      union all select topic, partition, "end" from ends
    ), steps as (
      select topic, partition, "offset", lag("offset", 1, -1::bigint) over (partition by topic, partition order by "offset") + 1 as due
      from passed join ends using (topic, partition) where "offset" <= "end"
    )
    select topic, partition, due as "from", "offset" as "to" from steps where "offset" > due order by topic, partition, due`.execute(
    db,
  );
  return rows;
}

/**
 * Why the journal holds nothing at a place that was chained: the event was appended before and is kept there, or it was set
 * aside, with its bytes: by the journal (`journal/fold-batch.ts`), or since it has no effect (`epochs/mark-superseded.ts`).
 */
export type Absence = { readonly kind: 'kept-elsewhere' } | { readonly kind: 'set-aside'; readonly body: Uint8Array };

/**
 * Returns the reasons that the journal itself wrote down for chained places where it holds nothing, by offset. That an event of
 * this id is somewhere else is none: it may have been moved. Of a requeue from quarantine the journal keeps the place next to the
 * event. Only of segments the journal notes no second append (two processes may both record one, as they should); the one that
 * was kept came first.
 */
export async function absencesOf(
  db: Db,
  topic: string,
  partition: number,
  absent: readonly { readonly offset: number; readonly eventId: string }[],
): Promise<ReadonlyMap<number, Absence>> {
  if (absent.length === 0) return new Map();
  const { rows } = await sql<{ offset: number; body: Buffer | null }>`
    select a."offset", coalesce(q.body, convert_to(s.body, 'UTF8')) as body
    from unnest(${absent.map(({ offset }) => offset)}::bigint[], ${absent.map(({ eventId }) => eventId)}::uuid[]) as a("offset", event_id)
    left join quarantine q
      on q.projection = 'journal' and q.topic = ${topic} and q.partition = ${partition} and q."offset" = a."offset"
    left join events e on e.event_id = a.event_id
    left join superseded s
      on s.topic = ${topic} and s.partition = ${partition} and s."offset" = a."offset" and exists (
           select from events f
           where f.stream = s.stream and f.topic = s.topic and f.partition = s.partition and f."offset" < s."offset"
             and f.type in ('RunResumed', 'TreeResumed'))
    where q.body is not null or s.body is not null
       or e.type = 'SegmentRendered' and (e.topic <> ${topic} or e.partition <> ${partition} or e."offset" < a."offset")
       or e.event_id is not null and exists (
            select from anomalies n
            where n.topic = ${topic} and n.partition = ${partition} and n."offset" = a."offset"
              and n.kind = 'duplicate' and n.event_id = a.event_id and n.stream = e.stream
            union all
            select from requeued_records r
            where r.topic = ${topic} and r.partition = ${partition} and r."offset" = a."offset" and r.event_id = a.event_id and r.stream = e.stream)`.execute(
    db,
  );
  return new Map(
    rows.map(({ offset, body }) => [offset, body ? { kind: 'set-aside', body } : { kind: 'kept-elsewhere' }] as const),
  );
}
