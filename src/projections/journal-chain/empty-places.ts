import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/**
 * Why the journal holds nothing at a place that was chained: the event was appended before and is kept there, or it was set
 * aside, with its bytes: by the journal (`journal/fold-batch.ts`), or since it has no effect (`epochs/mark-superseded.ts`).
 */
export type Absence = { readonly kind: 'kept-elsewhere' } | { readonly kind: 'set-aside'; readonly body: Uint8Array };

/**
 * Returns the reasons that the journal itself wrote down for chained places where it holds nothing, by offset. That an event of
 * this id is somewhere else is none: it may have been moved. Of a release from quarantine the journal keeps the place next to the
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
            select from quarantine_releases r
            where r.topic = ${topic} and r.partition = ${partition} and r."offset" = a."offset" and r.event_id = a.event_id and r.stream = e.stream)`.execute(
    db,
  );
  return new Map(
    rows.map(({ offset, body }) => [offset, body ? { kind: 'set-aside', body } : { kind: 'kept-elsewhere' }] as const),
  );
}
