import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { type JournalState, placeOf, type Repetition } from './fold-batch.ts';
import { BODY, readBodiesOf } from './read-bodies.ts';

/** Loads what the journal holds of the events of a batch, of their streams and of their partitions. */
export async function loadJournalState(batch: readonly Delivery[], trx: Trx): Promise<JournalState> {
  const streams = [...new Set(batch.map((d) => d.event.stream))];
  const [bodies, repeated, positions, sequences, places] = await sideBySide(
    () =>
      readBodiesOf(
        trx,
        batch.map((d) => d.event),
      ),
    () => repeatedBy(batch, trx),
    () => positionsOf(streams, trx),
    () => sequencesOf(streams, trx),
    () => loadPlaces(batch, trx),
  );
  return { bodies: new Map(bodies), repeated, positions, sequences, ...places };
}

/** Reads the records that those of a batch repeat. */
async function repeatedBy(batch: readonly Delivery[], trx: Trx): Promise<Map<string, Repetition>> {
  const places = batch.flatMap(({ topic, partition, repeats }) => (repeats === undefined ? [] : [{ topic, partition, repeats }]));
  if (places.length === 0) return new Map();
  const { rows } = await sql<Repetition & { topic: string; partition: number; offset: number }>`
    select e.topic, e.partition, e."offset", e.event_id, e.correlation_id, ${BODY} as body from events e
    join unnest(
      ${places.map(({ topic }) => topic)}::text[], ${places.map(({ partition }) => partition)}::int[],
      ${places.map(({ repeats }) => repeats)}::bigint[]
    ) as p (topic, partition, "offset") using (topic, partition, "offset")`.execute(trx);
  return new Map(rows.map(({ offset, ...record }) => [placeOf(record, offset), record]));
}

async function positionsOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const rows = await rowsWhere(trx, 'streams', { stream: streams }, ['stream', 'position']);
  return new Map(rows.map((row) => [row.stream, row.position]));
}

async function sequencesOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const rows = await rowsWhere(trx, 'streamProducers', { stream: streams }, ['stream', 'producer', 'sequence']);
  return new Map(rows.map((row) => [`${row.stream} ${row.producer}`, row.sequence]));
}

/**
 * Loads what is known of the partitions of a batch. The last record of a partition is its latest: the fold sees to that. A record
 * is left to the log where that is in this database and has what is folded.
 */
async function loadPlaces(batch: readonly Delivery[], trx: Trx): Promise<Pick<JournalState, 'received' | 'logPartitions'>> {
  const places = new Map(batch.map(({ topic, partition, offset }) => [`${topic} ${partition}`, { topic, partition, offset }]));
  const column = (name: 'topic' | 'partition' | 'offset') => [...places.values()].map((place) => place[name]);
  const last = (table: 'events' | 'requeued_records') => sql`
    (select received_at from ${sql.table(table)}
     where topic = p.topic and partition = p.partition order by "offset" desc limit 1)`;
  const { rows } = await sql<{ place: string; at: Date | null; logPartition: number | null }>`
    select p.topic || ' ' || p.partition as place, greatest(${last('events')}, ${last('requeued_records')}) as at, (
      select l.partition_id from log_topics t join log_partitions l using (topic_id)
      where t.topic = p.topic and l.partition = p.partition and l.next_offset > p.last
        and not exists (select from log_identity where identity <> 'embedded')) as log_partition
    from unnest(${column('topic')}::text[], ${column('partition')}::int[], ${column('offset')}::bigint[])
      as p (topic, partition, last)`.execute(trx);
  return {
    received: new Map(rows.flatMap(({ place, at }) => (at ? [[place, at.toISOString()]] : []))),
    logPartitions: new Map(rows.flatMap(({ place, logPartition }) => (logPartition === null ? [] : [[place, logPartition]]))),
  };
}
