import { sql } from 'kysely';
import { largest } from '../../domain/extremes.ts';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { EventRow } from './rows.ts';
import { tables } from './tables.ts';

const MINUTE_MS = 60_000;

interface Counted {
  readonly runId: string;
  readonly topic: string;
  readonly partition: number;
  events: number;
  lastAt: string;
  lastMs: number;
  /** Minute of the epoch → events. */
  readonly minutes: Map<number, number>;
}

/**
 * Adds events to the counts of their runs. Of an older minute than the newest two nothing is kept, whatever the cut into batches:
 * the two newest ones of all events are the same.
 */
export async function countOfRuns(events: readonly EventRow[], trx: Trx): Promise<void> {
  const rows = [...countedOf(events).values()].map(({ minutes, lastMs: _, ...counted }) => {
    const minute = largest(minutes.keys());
    return { ...counted, minute, inMinute: minutes.get(minute), minuteBefore: minutes.get(minute - 1) ?? 0 };
  });
  if (rows.length === 0) return;
  const types = Object.fromEntries(Object.entries(tables.runEvents.columns).map(([name, { type }]) => [name, type]));
  await sql`
    insert into run_events as c (run_id, topic, partition, events, last_at, minute, in_minute, minute_before)
    select run_id, topic, partition, events, last_at, minute, in_minute, minute_before from ${recordset(rows, types)}
    on conflict (run_id, topic, partition) do update set
      events = c.events + excluded.events, last_at = greatest(c.last_at, excluded.last_at),
      minute = greatest(c.minute, excluded.minute),
      in_minute = ${inMinute('c')} + ${inMinute('excluded')},
      minute_before = ${minuteBefore('c')} + ${minuteBefore('excluded')}`.execute(trx);
}

function countedOf(events: readonly EventRow[]): ReadonlyMap<string, Counted> {
  const counted = new Map<string, Counted>();
  let read = { at: '', ms: Number.NaN };
  for (const { correlationId: runId, topic, partition, receivedAt, occurredAt } of events) {
    const at = String(receivedAt ?? occurredAt);
    if (at !== read.at) read = { at, ms: Date.parse(at) }; // the log took most of them in the same few milliseconds
    const { ms } = read;
    const minute = Math.floor(ms / MINUTE_MS);
    const place = `${runId} ${topic} ${partition}`;
    const of = counted.get(place) ?? { runId, topic, partition, events: 0, lastAt: at, lastMs: ms, minutes: new Map() };
    of.events++;
    if (ms > of.lastMs) Object.assign(of, { lastAt: at, lastMs: ms });
    of.minutes.set(minute, (of.minutes.get(minute) ?? 0) + 1);
    counted.set(place, of);
  }
  return counted;
}

/** What one of two rows holds of the newer one's minute, and of the minute before that. */
const inMinute = (of: 'c' | 'excluded') =>
  sql.raw(`case when ${of}.minute = greatest(c.minute, excluded.minute) then ${of}.in_minute else 0 end`);
const minuteBefore = (of: 'c' | 'excluded') =>
  sql.raw(
    `case greatest(c.minute, excluded.minute) - ${of}.minute when 0 then ${of}.minute_before when 1 then ${of}.in_minute else 0 end`,
  );

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
