import { sql } from 'kysely';
import type { EventType } from '../../events/catalogue.ts';
import type { RequeuedFrom } from '../../events/envelope.ts';
import { withRequeue } from '../../events/with-requeue.ts';
import type { LogBatch, Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import type { Scope } from './scope.ts';

const BATCH = 2_000; // records
const STREAMS = 100; // streams read at once

/**
 * Reads the records below next offsets again from the journal, in log order within each partition (of some streams: within each
 * stream). The journal keeps every record byte for byte but for one kind: of an event that was appended again as a requeue from
 * quarantine it keeps the place and what it says of itself, and the first bytes stand for the second. What was appended again
 * otherwise has no effect and is left out.
 * @param types those that are read; left out, all, and what is no event too.
 */
export async function* readRecords(
  db: Db,
  position: Offsets,
  scope: Scope,
  types?: readonly EventType[],
): AsyncGenerator<LogBatch> {
  if (scope.kind === 'streams') {
    for (let i = 0; i < scope.streams.length; i += STREAMS)
      yield* readStreams(db, position, scope.streams.slice(i, i + STREAMS), types);
    return;
  }
  for (const [topic, partitions] of position)
    for (const [partition, next] of partitions) yield* readPartition(db, topic, partition, next, types);
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
  /** Of a requeue whose event lies elsewhere. */
  readonly requeued: RequeuedFrom | null;
}

/** What a requeue says of itself, from the row of `requeued_records` under an alias. */
const REQUEUED = sql`jsonb_build_object('offset', r.from_offset, 'reason', r.reason,
  'at', to_char(r.requeued_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const ofTypes = (types: readonly EventType[] | undefined) => (types ? sql`and e.type = any(${[...types]}::text[])` : sql``);

async function* readPartition(
  db: Db,
  topic: string,
  partition: number,
  end: number,
  types: readonly EventType[] | undefined,
): AsyncGenerator<LogBatch> {
  const within = (alias: string, from: number) => sql`
    ${sql.ref(`${alias}.topic`)} = ${topic} and ${sql.ref(`${alias}.partition`)} = ${partition}
    and ${sql.ref(`${alias}.offset`)} >= ${from} and ${sql.ref(`${alias}.offset`)} < ${end}`;
  const unread = (from: number) =>
    types
      ? sql``
      : sql`
      union all
      (select q.topic, q.partition, q."offset", null, q.body, null from quarantine q
       where q.projection = 'journal' and ${within('q', from)} order by q."offset" limit ${BATCH})`;
  for (let from = 0; from < end; ) {
    const { rows } = await sql<Row>`
      (select e.topic, e.partition, e."offset", e.body, null::bytea as bytes, null::jsonb as requeued from events e
       where ${within('e', from)} ${ofTypes(types)} order by e."offset" limit ${BATCH})
      union all
      (select r.topic, r.partition, r."offset", e.body, null, ${REQUEUED} from requeued_records r join events e using (event_id, stream)
       where ${within('r', from)} and ${ELSEWHERE} ${ofTypes(types)} order by r."offset" limit ${BATCH})
      ${unread(from)}
      order by "offset" limit ${BATCH}`.execute(db);
    const next = rows.length < BATCH ? end : (rows.at(-1)?.offset ?? end) + 1;
    if (rows.length > 0) yield batchOf(topic, partition, from, next, rows);
    from = next;
  }
}

/** The event of a requeue that the journal itself had refused lies where it was requeued, and is read there already. */
const ELSEWHERE = sql`(e.topic, e.partition, e."offset") <> (r.topic, r.partition, r."offset")`;

async function* readStreams(
  db: Db,
  position: Offsets,
  streams: readonly string[],
  types: readonly EventType[] | undefined,
): AsyncGenerator<LogBatch> {
  const of = sql`any(${[...streams]}::uuid[])`;
  const unread = types
    ? sql``
    : sql`
      union all
      select q.topic, q.partition, q."offset", null, q.body, null from quarantine q
      where q.projection = 'journal' and q.stream = any(${[...streams]}::text[])`;
  const { rows } = await sql<Row>`
    select f.*, h.next from (
      select e.topic, e.partition, e."offset", e.body, null::bytea as bytes, null::jsonb as requeued from events e
      where e.stream = ${of} ${ofTypes(types)}
      union all
      select r.topic, r.partition, r."offset", e.body, null, ${REQUEUED} from requeued_records r join events e using (event_id, stream)
      where r.stream = ${of} and ${ELSEWHERE} ${ofTypes(types)}
      ${unread}
    ) f join ${horizon(position)} using (topic, partition)
    where f."offset" < h.next order by topic, partition, f."offset"`.execute(db);
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
  const records = rows.map(({ offset, body, bytes, requeued }) => ({
    offset,
    receivedAt: null, // the journal alone keeps it, and is not folded as of a moment
    key: '',
    value: bytes ?? Buffer.from(requeued ? withRequeue(body ?? '', requeued) : (body ?? ''), 'utf8'),
  }));
  return { topic, partition, from, next, records };
}

/** The next offsets as a relation `h (topic, partition, next)`. */
export function horizon(position: Offsets) {
  const rows = [...position].flatMap(([topic, partitions]) =>
    [...partitions].map(([partition, next]) => ({ topic, partition, next })),
  );
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as h(topic text, partition integer, next bigint)`;
}
