import { sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';
import { ofRun } from './of-run.ts';
import { openBody } from './read-bodies.ts';

export interface JournalRecord {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly type: string;
  readonly stream: string;
  readonly position: number;
  /** The record as it was appended, its payload opened. */
  readonly body: string;
  /** When the log took the record at this place; null where no log said so. */
  readonly receivedAt: Date | null;
  /**
   * The offset of the record that waited in quarantine, where this one is its requeue: the event takes effect here for who
   * refused it there.
   */
  readonly requeuedFrom: number | null;
}
export interface TailFilter {
  readonly types?: readonly string[];
  readonly runId?: string;
  readonly treeId?: string;
}
export interface TailRead {
  /** Partition by partition, each in offset order. */
  readonly records: readonly JournalRecord[];
  /**
   * Where the journal ended when this was read: nothing below it is missing from `records`, but in a partition that gave `limit`
   * of them.
   */
  readonly ends: Offsets;
}

/**
 * Reads what the journal holds at and after next offsets, at most `limit` events of each partition. An event that was requeued
 * from a quarantine is there a second time, at the place of its requeue. Events and ends come from one statement, one snapshot,
 * so no event can slip between them. A partition that `from` does not name is read from 0.
 */
export async function readTail(db: Db, from: Offsets, filter: TailFilter, limit: number): Promise<TailRead> {
  const asked = [...from].flatMap(([topic, partitions]) =>
    [...partitions].map(([partition, next]) => ({ topic, partition, next })),
  );
  const conditions = [
    ...(filter.types ? [sql`and e.type = any(${[...filter.types]}::text[])`] : []),
    ...(filter.runId ? [sql`and ${ofRun('e', filter.runId)}`] : []),
    ...(filter.treeId ? [sql`and e.stream = ${filter.treeId}::uuid`] : []),
  ];
  const chosen = sql.join(conditions, sql` `);
  const { rows } = await sql<Row>`
    select c.topic, c.partition, c.next_offset as end, e.*
    from cursors c
    join projections p on p.name = c.projection and p.version = c.version
    left join jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a(topic text, partition integer, next bigint)
      on a.topic = c.topic and a.partition = c.partition
    left join lateral (
      (select e.event_id as id, e."offset", e.type, e.stream, e.position, e.body, e.received_at, r.from_offset as requeued_from
       from events e left join requeued_records r on (r.topic, r.partition, r."offset") = (e.topic, e.partition, e."offset")
       where e.topic = c.topic and e.partition = c.partition and e."offset" >= coalesce(a.next, 0) and e."offset" < c.next_offset
         ${chosen}
       order by e."offset" limit ${limit})
      union all
      (select e.event_id, r."offset", e.type, e.stream, e.position, e.body, r.received_at, r.from_offset
       from requeued_records r join events e on e.event_id = r.event_id and e.stream = r.stream
       where r.topic = c.topic and r.partition = c.partition and r."offset" >= coalesce(a.next, 0) and r."offset" < c.next_offset
         and (e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset") ${chosen}
       order by r."offset" limit ${limit})
      order by 2 limit ${limit}
    ) e on true
    where c.projection = 'journal'
    order by c.topic, c.partition, e."offset"`.execute(db);
  const ends = new Map<string, Map<number, number>>();
  for (const row of rows) ends.set(row.topic, (ends.get(row.topic) ?? new Map()).set(row.partition, row.end));
  const found = rows.filter((row): row is Found => row.id !== null);
  const unseal = await unsealerOf(
    db,
    found.map(({ body }) => body),
  );
  return { ends, records: found.map((row) => ({ ...row, body: openBody(row.body, unseal) })) };
}

type Found = JournalRecord & { readonly end: number };
/** The outer join produces one row for a partition without events, of nulls. */
type Row = Found | { readonly topic: string; readonly partition: number; readonly end: number; readonly id: null };
