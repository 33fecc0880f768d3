import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';
import { describePlace, type LogPlace } from './place.ts';

/** What waits in quarantine for a projection, and why. */
export interface WaitingRecord extends LogPlace {
  readonly projection: string;
  /** Null for a record that is no event. */
  readonly type: string | null;
  readonly code: string;
  readonly field: string;
  readonly reason: string;
}

/** Reads what waits for live projections, not for versions next to them: the oldest first, at most `limit` records. */
export async function readWaiting(db: Db, limit: number): Promise<readonly WaitingRecord[]> {
  return db
    .selectFrom('quarantine')
    .select(['projection', 'topic', 'partition', 'offset', 'type', 'code', 'field', 'reason'])
    .where('requeuedAt', 'is', null)
    .where('projection', 'in', db.selectFrom('projections').select('name'))
    .orderBy('quarantinedAt')
    .orderBy('offset')
    .limit(limit)
    .execute();
}

/** Counts what waits for each installed projection; 0 where nothing does. */
export async function countWaiting(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ projection: string; waiting: number }>`
    select p.name as projection, count(q.projection) as waiting from projections p
    left join quarantine q on q.projection = p.name and q.requeued_at is null group by p.name`.execute(db);
  return new Map(rows.map(({ projection, waiting }) => [projection, waiting]));
}

/** Counts the records that wait, by the project of their stream; the largest hundred, and what the others hold together as `other`. */
export async function countWaitingByProject(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ project: string; waiting: number }>`
    with waiting as (
      select coalesce(o.project, 'unknown') as project, count(distinct (q.topic, q.partition, q."offset")) as waiting
      from quarantine q left join owners o on o.topic = q.topic and o.stream::text = q.stream
      where q.requeued_at is null and q.projection in (select name from projections) group by 1
    ), ranked as (select *, row_number() over (order by waiting desc, project) as place from waiting)
    select case when place <= 100 then project else 'other' end as project, sum(waiting)::int as waiting from ranked group by 1`.execute(
    db,
  );
  return new Map(rows.map(({ project, waiting }) => [project, waiting]));
}

/** A record that waits for one or more live projections, with its bytes as they lay in the log. */
export interface WaitingPlace extends LogPlace {
  /** By name. */
  readonly projections: readonly string[];
  readonly body: Buffer;
}

/** Reads the places behind `after` at which something waits for a live projection, in log order, at most `limit`. */
export async function readWaitingPlaces(db: Db, after: LogPlace, limit: number): Promise<readonly WaitingPlace[]> {
  const { rows } = await sql<WaitingPlace>`
    select topic, partition, "offset", array_agg(projection order by projection) as projections, (array_agg(body))[1] as body
    from public.quarantine
    where requeued_at is null and projection in (select name from public.projections)
      and (topic, partition, "offset") > (${after.topic}, ${after.partition}::integer, ${after.offset}::bigint)
    group by topic, partition, "offset" order by topic, partition, "offset" limit ${limit}`.execute(db);
  return rows;
}

/** Returns which of some places something waits at for a live projection, as far as who reads sees it. */
export async function findWaiting(db: Db, places: readonly LogPlace[]): Promise<readonly LogPlace[]> {
  const asked = places.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
  const { rows } = await sql<LogPlace>`
    select distinct q.topic, q.partition, q."offset" from quarantine q
    join jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as p(topic text, partition integer, "offset" bigint)
      using (topic, partition, "offset")
    where q.requeued_at is null and q.projection in (select name from projections)`.execute(db);
  return rows;
}

/** Reads why live projections set records aside at some places: `projection place` → the field and the reason. */
export async function readRefusalsAt(db: Db, places: readonly LogPlace[]): Promise<ReadonlyMap<string, string>> {
  const asked = places.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
  const { rows } = await sql<LogPlace & { projection: string; reason: string }>`
    select q.projection, q.topic, q.partition, q."offset", concat_ws(' ', nullif(q.field, ''), q.reason) as reason from public.quarantine q
    join jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as p(topic text, partition integer, "offset" bigint)
      using (topic, partition, "offset")
    where q.projection in (select name from public.projections)`.execute(db);
  return new Map(rows.map((row) => [`${row.projection} ${describePlace(row)}`, row.reason]));
}
