import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A run whose payload is older than its project keeps it. */
export interface DueRun {
  readonly runId: string;
  readonly project: string;
  /** Whether it has keys that are to be destroyed, or whose end is not recorded; without any, its payload lies in the clear. */
  readonly sealed: boolean;
  readonly forgotten: boolean;
}

/**
 * Reads the runs whose last end the log received longer ago than their project keeps payload; one that goes on is not among them.
 * @param now as milliseconds since 1970.
 */
export async function readDue(db: Db, now: number): Promise<readonly DueRun[]> {
  const { rows } = await sql<DueRun>`
    with due as materialized (
      select r.run_id, o.project from runs r
      join owners o on o.stream = r.run_id and o.topic = 'runs'
      join public.payload_policies p on p.project = o.project and p.forget_after_days is not null
      cross join lateral (
        select e.type, coalesce(e.received_at, e.occurred_at) as at from events e
        where e.stream = r.run_id and e.type in ('RunFinished', 'RunResumed') order by e.position desc limit 1
      ) e
      where e.type = 'RunFinished' and e.at < ${new Date(now)}::timestamptz - make_interval(days => p.forget_after_days)
    ), own as materialized (
      select due.run_id, k.key_id, k.secret is null as destroyed from due join public.stream_keys k on k.stream = due.run_id
      union all
      select due.run_id, k.key_id, k.secret is null from due join trees t using (run_id) join public.stream_keys k on k.stream = t.tree_id
    ), recorded as materialized (
      select f.key_id::uuid as key_id from due join events e on e.stream = due.run_id and e.type = 'PayloadForgotten',
        jsonb_array_elements_text(e.body::jsonb #> '{data,keys}') as f(key_id)
    ), keys as (
      select run_id, bool_or(not destroyed or recorded.key_id is null) as left_over from own left join recorded using (key_id)
      group by run_id
    )
    select due.run_id, due.project, coalesce(keys.left_over, false) as sealed, coalesce(not keys.left_over, false) as forgotten
    from due left join keys using (run_id) order by due.run_id`.execute(db);
  return rows;
}
