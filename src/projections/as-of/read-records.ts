import { sql } from 'kysely';
import type { LogBatch, Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import type { Scope } from './scope.ts';

const BATCH = 2_000; // records
const STREAMS = 100; // streams read at once

/**
 * Reads the records below next offsets again from the journal, in log order within each partition (of some streams: within each stream).
 * The journal keeps every record byte for byte but for one kind: of an event that was appended again with the same content it keeps the
 * place alone, and the first bytes stand for the second.
 */
export async function* readRecords(db: Db, position: Offsets, scope: Scope): AsyncGenerator<LogBatch> {
  if (scope.kind === 'streams') {
    for (let i = 0; i < scope.streams.length; i += STREAMS) yield* readStreams(db, position, scope.streams.slice(i, i + STREAMS));
    return;
  }
  for (const [topic, partitions] of position)
    for (const [partition, next] of partitions) yield* readPartition(db, topic, partition, next);
}

/** Counts the records that would be read, from above: an offset that holds none counts as well. */
export async function countRecords(db: Db, position: Offsets, scope: Scope): Promise<number> {
  if (scope.kind === 'all')
    return [...position.values()].reduce((sum, partitions) => [...partitions.values()].reduce((a, b) => a + b, sum), 0);
  const { rows } = await sql<{ records: number }>`
    select count(*) as records from events e join ${horizon(position)} using (topic, partition)
    where e.stream = any(${[...scope.streams]}::uuid[]) and e."offset" < h.next`.execute(db);
  return rows[0]?.records ?? 0;
}

interface Row {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly body: string | null;
  readonly bytes: Buffer | null;
}

async function* readPartition(db: Db, topic: string, partition: number, end: number): AsyncGenerator<LogBatch> {
  for (let from = 0; from < end; ) {
    const { rows } = await sql<Row>`
      (select topic, partition, "offset", body, null::bytea as bytes from events
       where topic = ${topic} and partition = ${partition} and "offset" >= ${from} and "offset" < ${end} order by "offset" limit ${BATCH})
      union all
      (select a.topic, a.partition, a."offset", e.body, null from anomalies a join events e using (event_id)
       where a.topic = ${topic} and a.partition = ${partition} and a."offset" >= ${from} and a."offset" < ${end} and a.kind = 'duplicate'
       order by a."offset" limit ${BATCH})
      union all
      (select topic, partition, "offset", null, body from quarantine
       where projection = 'journal' and topic = ${topic} and partition = ${partition} and "offset" >= ${from} and "offset" < ${end}
         and released_at is null order by "offset" limit ${BATCH})
      order by "offset" limit ${BATCH}`.execute(db);
    const next = rows.length < BATCH ? end : (rows.at(-1)?.offset ?? end) + 1;
    if (rows.length > 0) yield batchOf(topic, partition, from, next, rows);
    from = next;
  }
}

async function* readStreams(db: Db, position: Offsets, streams: readonly string[]): AsyncGenerator<LogBatch> {
  const { rows } = await sql<Row>`
    select * from (
      select e.topic, e.partition, e."offset", e.body, null::bytea as bytes from events e where e.stream = any(${[...streams]}::uuid[])
      union all
      select a.topic, a.partition, a."offset", e.body, null from anomalies a join events e using (event_id)
      where a.stream = any(${[...streams]}::uuid[]) and a.kind = 'duplicate'
      union all
      select q.topic, q.partition, q."offset", null, q.body from quarantine q
      where q.projection = 'journal' and q.stream = any(${[...streams]}::text[]) and q.released_at is null
    ) r join ${horizon(position)} using (topic, partition)
    where r."offset" < h.next order by topic, partition, r."offset"`.execute(db);
  for (let i = 0; i < rows.length; ) {
    const first = rows[i] as Row; // i < rows.length
    let j = i;
    while (j < rows.length && j - i < BATCH && rows[j]?.topic === first.topic && rows[j]?.partition === first.partition) j++;
    const mine = rows.slice(i, j);
    yield batchOf(first.topic, first.partition, first.offset, (mine.at(-1)?.offset ?? 0) + 1, mine);
    i = j;
  }
}

function batchOf(topic: string, partition: number, from: number, next: number, rows: readonly Row[]): LogBatch {
  const records = rows.map(({ offset, body, bytes }) => ({ offset, key: '', value: bytes ?? Buffer.from(body ?? '', 'utf8') }));
  return { topic, partition, from, next, records };
}

/** The next offsets as a relation `h (topic, partition, next)`. */
export function horizon(position: Offsets) {
  const rows = [...position].flatMap(([topic, partitions]) =>
    [...partitions].map(([partition, next]) => ({ topic, partition, next })),
  );
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as h(topic text, partition integer, next bigint)`;
}
