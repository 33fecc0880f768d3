import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

export interface MetricRecord {
  /** Of the event that recorded it. */
  readonly eventId: string;
  readonly runId: string;
  readonly metric: string;
  readonly value: number;
  readonly at: number | null;
  readonly weights: string | null;
  readonly occurredAt: Date;
}

/** Reads the last `limit` points of each run's metrics, oldest first. @param metric only this one; null for all. */
export async function readMetrics(
  db: Db,
  runs: readonly string[],
  metric: string | null,
  limit: number,
): Promise<readonly MetricRecord[]> {
  const { rows } = await sql<MetricRecord>`
    select m.event_id, m.run_id, m.metric, m.value, m.at, m.weights, m.occurred_at
    from unnest(${[...runs]}::uuid[]) as r(run_id)
    cross join lateral (
      select * from metrics
      where run_id = r.run_id and (${metric}::text is null or metric = ${metric})
      order by occurred_at desc, event_id desc limit ${limit}
    ) m
    order by m.occurred_at, m.event_id`.execute(db);
  return rows;
}
