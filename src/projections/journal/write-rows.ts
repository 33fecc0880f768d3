import { sql } from 'kysely';
import { insertRows, recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Folded, Known } from './fold-batch.ts';
import { ANOMALY_COLUMNS, EVENT_COLUMNS, type EventRow } from './rows.ts';

/** Writes the rows of a batch, and how far its streams and producers are. `insert` is for the events, which the fold knows to be new. */
export async function writeRows({ events, anomalies }: Folded, known: Known, trx: Trx, insert: typeof insertRows): Promise<void> {
  if (events.length > 0) {
    await insert(trx, 'events', events, EVENT_COLUMNS);
    await writePositions(events, known.positions, trx);
    await writeSequences(events, known.sequences, trx);
  }
  await insertRows(trx, 'anomalies', anomalies, ANOMALY_COLUMNS);
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
