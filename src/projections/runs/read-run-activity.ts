import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What is written of a run: how much, how fast, and when last. */
export interface RunActivity {
  readonly runId: string;
  readonly events: number;
  /** When the log took its last event; null where it has none. */
  readonly lastEventAt: Date | null;
  /** Of the last minute while it goes on, else of the time from its start to its last event; null where that is no time. */
  readonly eventsPerSecond: number | null;
}

// How much of this minute is over: of the minute before, as much is left out of the last 60 seconds.
const PART = sql`extract(epoch from now()) / 60 - floor(extract(epoch from now()) / 60)`;
const THIS = sql`floor(extract(epoch from now()) / 60)`;

/**
 * Reads the activity of runs, in one statement, by a few rows of each. @param lately whether `db` shows what is on record now.
 */
export async function readRunActivity(
  db: Db,
  runs: readonly string[],
  lately: 'now' | 'at a moment',
): Promise<readonly RunActivity[]> {
  const { rows } = await sql<RunActivity>`
    select r.run_id, coalesce(e.events, 0)::bigint as events, e.last_at as last_event_at,
           (case when r.finished_at is null and ${lately === 'now'}
              then e.lately / greatest(1, least(60, extract(epoch from now() - r.started_at)))
              else e.events / nullif(extract(epoch from e.last_at - r.started_at), 0) end)::float8 as events_per_second
    from runs r cross join lateral (
      select sum(events) as events, max(last_at) as last_at,
             sum(case ${THIS} - minute when 0 then in_minute + minute_before * (1 - (${PART})) when 1 then in_minute * (1 - (${PART}))
               else 0 end) as lately
      from run_events where run_id = r.run_id) e
    where r.run_id = any(${[...runs]}::uuid[])`.execute(db);
  return rows;
}

/** A reason for which rollouts of a run failed. */
export interface FailureReason {
  readonly runId: string;
  readonly reason: string;
  readonly rollouts: number;
  /** The last one. */
  readonly rolloutId: string;
  readonly treeId: string;
}

const FAILED = 200; // of the last failed rollouts: a run may have any number

/** Reads why the last failed rollouts of runs failed, the most frequent reason first, in one statement. */
export async function readFailureReasons(db: Db, runs: readonly string[]): Promise<readonly FailureReason[]> {
  const { rows } = await sql<FailureReason>`
    select r.run_id, f.reason, count(*) as rollouts,
      (array_agg(f.rollout_id order by f.finished_at desc, f.rollout_id desc, f.tree_id desc))[1] as rollout_id,
      (array_agg(f.tree_id order by f.finished_at desc, f.rollout_id desc, f.tree_id desc))[1] as tree_id
    from unnest(${[...runs]}::uuid[]) as r(run_id) cross join lateral (
      select coalesce(o.reason, '') as reason, o.rollout_id, o.tree_id, o.finished_at from rollouts o
      where o.run_id = r.run_id and o.outcome = 'failed' order by o.finished_at desc, o.rollout_id desc, o.tree_id desc limit ${FAILED}) f
    group by r.run_id, f.reason order by count(*) desc, f.reason`.execute(db);
  return rows;
}

export interface LastReturn {
  readonly runId: string;
  readonly value: number;
}

/** Reads the returns of the rollouts of runs that finished last, in the order in which they finished, in one statement; those that nobody rewarded have none. */
export async function readLastReturns(db: Db, runs: readonly string[], last: number): Promise<readonly LastReturn[]> {
  const { rows } = await sql<LastReturn>`
    select r.run_id, v.value
    from unnest(${[...runs]}::uuid[]) as r(run_id) cross join lateral (
      select o.rollout_id, o.tree_id, o.finished_at from rollouts o where o.run_id = r.run_id and o.finished_at is not null
      order by o.finished_at desc, o.rollout_id desc, o.tree_id desc limit ${last}) o
    join returns v using (rollout_id, tree_id) where v.value is not null order by o.finished_at, o.rollout_id, o.tree_id`.execute(
    db,
  );
  return rows;
}
