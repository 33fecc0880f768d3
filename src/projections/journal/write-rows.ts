import { sql } from 'kysely';
import { copyNew, insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Folded, Known } from './fold-batch.ts';
import { ANOMALY_COLUMNS, EVENT_COLUMNS, type EventRow, RELEASE_COLUMNS } from './rows.ts';

/**
 * Writes the rows of a batch, and how far its streams and producers are. The events are new to the fold: one that is there all
 * the same was written meanwhile by a transaction that folds another partition, and the slice is folded again
 * (`isolate-poison.ts`). To skip it would lose a durable event.
 */
export async function writeRows({ events, anomalies, releases }: Folded, known: Known, trx: Trx): Promise<void> {
  if (events.length > 0) {
    await copyNew(trx, 'events', events, EVENT_COLUMNS);
    await writePositions(events, known.positions, trx);
    await writeSequences(events, known.sequences, trx);
  }
  await insertRows(trx, 'anomalies', ['topic', 'partition', 'offset'], anomalies, ANOMALY_COLUMNS);
  await insertRows(trx, 'quarantine_releases', ['topic', 'partition', 'offset'], releases, RELEASE_COLUMNS);
}

async function writePositions(events: readonly EventRow[], positions: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const rows = [...new Set(events.map((e) => e.stream))].map((stream) => ({ stream, position: positions.get(stream) ?? 0 }));
  await sql`
    insert into streams (stream, position) select stream, position from ${recordset(rows, { stream: 'uuid', position: 'bigint' })}
    on conflict (stream) do update set position = excluded.position`.execute(trx);
}

async function writeSequences(events: readonly EventRow[], sequences: ReadonlyMap<string, number>, trx: Trx): Promise<void> {
  const last = new Map<string, { stream: string; producer: string; sequence: number }>();
  for (const { stream, producer } of events) {
    const key = `${stream} ${producer}`;
    last.set(key, { stream, producer, sequence: sequences.get(key) ?? 0 });
  }
  await sql`
    insert into stream_producers (stream, producer, sequence)
    select stream, producer, sequence from ${recordset([...last.values()], { stream: 'uuid', producer: 'text', sequence: 'bigint' })}
    on conflict (stream, producer) do update set sequence = excluded.sequence`.execute(trx);
}
