import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import { copyNew, insertRows, upsertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import type { Poison, Projection } from '../projection.ts';
import { countOfRuns } from './count-of-runs.ts';
import { foldBatch, type JournalRows, type JournalState, placeOf, type Repetition } from './fold-batch.ts';
import { BODY, readBodiesOf } from './read-bodies.ts';
import type { EventRow } from './rows.ts';
import { tables } from './tables.ts';

/**
 * Keeps every event that has effect once, in its log order and its stream's order, and notes what should not be: an event
 * appended twice, a hole in a producer's sequence, a sequence that regressed, what a replaced collector appended. The first
 * append of an id in its stream is the fact; another fact under the same id there is quarantined. In another stream the id is
 * another event's: which partition is delivered first decides nothing. Where an event was appended again because it was requeued
 * from a quarantine, the place is kept: there it takes effect for who refused it before.
 */
export const journal: Projection = {
  name: 'journal',
  version: 1,
  handles: 'all',
  keepsWithoutEffect: true,
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const journalState = await loadJournalState(batch, trx);
  const folded = foldBatch(batch, journalState);
  await writeRows(folded, journalState, trx);
  return folded.poison;
}

/** Loads what the journal holds of the events of a batch, of their streams and of their partitions. */
async function loadJournalState(batch: readonly Delivery[], trx: Trx): Promise<JournalState> {
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

/**
 * Writes the rows of a batch, and how far its streams and producers are. The events are new to the fold: one that is there all
 * the same was written meanwhile by a transaction that folds another partition, and the slice is folded again
 * (`apply-slices.ts`). To skip it would lose a durable event.
 */
async function writeRows({ events, anomalies, requeues }: JournalRows, state: JournalState, trx: Trx): Promise<void> {
  await sideBySide(
    () => copyNew(trx, tables.events, events),
    () => writePositions(events, state.positions, trx),
    () => writeSequences(events, state.sequences, trx),
    () => countOfRuns(events, trx),
    () => insertRows(trx, tables.anomalies, anomalies),
    () => insertRows(trx, tables.requeuedRecords, requeues),
  );
}

async function writePositions(events: readonly EventRow[], positions: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const rows = [...new Set(events.map((e) => e.stream))].map((stream) => ({ stream, position: positions.get(stream) ?? 0 }));
  await upsertRows(trx, tables.streams, rows);
}

async function writeSequences(events: readonly EventRow[], sequences: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const last = new Map<string, { stream: string; producer: string; sequence: number }>();
  for (const { stream, producer } of events) {
    const key = `${stream} ${producer}`;
    last.set(key, { stream, producer, sequence: sequences.get(key) ?? 0 });
  }
  await upsertRows(trx, tables.streamProducers, [...last.values()]);
}
