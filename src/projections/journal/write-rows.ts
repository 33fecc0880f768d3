import { copyNew, insertRows, upsertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { countOfRuns } from './count-of-runs.ts';
import type { JournalRows, JournalState } from './fold-batch.ts';
import type { EventRow } from './rows.ts';
import { tables } from './tables.ts';

/**
 * Writes the rows of a batch, and how far its streams and producers are. The events are new to the fold: one that is there all
 * the same was written meanwhile by a transaction that folds another partition, and the slice is folded again
 * (`apply-slices.ts`). To skip it would lose a durable event.
 */
export async function writeRows({ events, anomalies, requeues }: JournalRows, state: JournalState, trx: Trx): Promise<void> {
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
