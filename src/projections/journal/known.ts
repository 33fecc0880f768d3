import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Known } from './fold-batch.ts';
import { readBodiesOf } from './read-bodies.ts';

/** Loads what the journal holds of some events, and of the streams of a batch: in three look-ups where there are no events. */
export async function loadKnown(events: readonly Delivery[], batch: readonly Delivery[], trx: Trx): Promise<Known> {
  const streams = [...new Set(batch.map((d) => d.event.stream))];
  const asked = events.map((d) => d.event);
  return {
    bodies: asked.length === 0 ? new Map() : new Map(await readBodiesOf(trx, asked)),
    positions: await positionsOf(streams, trx),
    sequences: await sequencesOf(streams, trx),
    received: await receivedOf(batch, trx),
  };
}

async function positionsOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const rows = await rowsWhere(trx, 'streams', { stream: streams }, ['stream', 'position']);
  return new Map(rows.map((row) => [row.stream, row.position]));
}

async function sequencesOf(streams: readonly string[], trx: Trx): Promise<Map<string, number>> {
  const rows = await rowsWhere(trx, 'streamProducers', { stream: streams }, ['stream', 'producer', 'sequence']);
  return new Map(rows.map((row) => [`${row.stream} ${row.producer}`, row.sequence]));
}

/** The last of a partition is its latest: the fold sees to that. */
async function receivedOf(batch: readonly Delivery[], trx: Trx): Promise<Map<string, string>> {
  const places = new Map(batch.map(({ topic, partition }) => [`${topic} ${partition}`, { topic, partition }]));
  const last = (table: 'events' | 'quarantine_releases') => sql`
    (select received_at from ${sql.table(table)}
     where topic = p.topic and partition = p.partition order by "offset" desc limit 1)`;
  const { rows } = await sql<{ topic: string; partition: number; at: Date | null }>`
    select p.topic, p.partition, greatest(${last('events')}, ${last('quarantine_releases')}) as at
    from unnest(${[...places.values()].map(({ topic }) => topic)}::text[],
      ${[...places.values()].map(({ partition }) => partition)}::int[]) as p (topic, partition)`.execute(trx);
  return new Map(rows.flatMap(({ topic, partition, at }) => (at ? [[`${topic} ${partition}`, at.toISOString()]] : [])));
}
