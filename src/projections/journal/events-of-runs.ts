/** The rows of `run_events` as a query of the journal itself: what the fold of it comes to (`count-of-runs.ts`). */
export const EVENTS_OF_RUNS = `
  select run_id, topic, partition, count(*) as events, max(at) as last_at, max(newest) as minute,
         count(*) filter (where minute = newest) as in_minute, count(*) filter (where minute = newest - 1) as minute_before
  from (
    select run_id, topic, partition, at, minute, max(minute) over (partition by run_id, topic, partition) as newest
    from (
      select correlation_id as run_id, topic, partition, coalesce(received_at, occurred_at) as at,
             floor(extract(epoch from coalesce(received_at, occurred_at)) / 60)::bigint as minute
      from events) a) b
  group by run_id, topic, partition`;
