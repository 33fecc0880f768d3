import { TOPICS } from '../../events/catalogue.ts';
import { partitionForKey } from '../../log/partition-for-key.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { RecordedTopic } from '../../postgres/recorded-partitions.ts';
import { compareReadModels } from '../../projections/compare-read-models.ts';
import type { JournalRow } from '../../projections/journal-chain/columns-off-body.ts';
import { readHoles } from '../../projections/journal-chain/read-holes.ts';
import type { Fault } from './verification.ts';

const ROWS_SHOWN = 20; // of each table

/**
 * Names how the log, the journal and the read models do not agree: topics that changed or lost records, offsets that were passed
 * without a trace, and rows without events or events without rows. Read models are with an intact journal only: what was changed in it is named already.
 */
export async function verifyLog(
  platform: Platform,
  journal: { readonly isIntact: boolean },
  fault: (found: Fault) => void,
): Promise<void> {
  const { database, log, logFaults } = platform;
  const { db } = database;
  for (const { detail } of logFaults) fault({ what: 'log', kind: 'missing', place: detail });
  const extents = await log.extents(TOPICS);
  for (const { topic, partition, from, to } of await readHoles(db)) {
    const end = extents.get(topic)?.get(partition)?.next ?? 0;
    const place = `${topic}.${partition} from ${from} to ${to}`;
    if (from < end) fault({ what: 'event', kind: 'missing', place: `${place}: the log has records that were never folded` });
  }
  if (!journal.isIntact) return;
  for (const { table, kind, id, projection } of await compareReadModels(db, ROWS_SHOWN))
    fault({ what: 'read model', kind, place: `${projection}: ${table} ${id}` });
}

/** Returns a check of every event: whether it is in the partition that its stream chooses among those recorded. */
export function checkPlaces(recorded: ReadonlyMap<string, RecordedTopic>, fault: (found: Fault) => void) {
  return ({ offset, eventId, stream }: JournalRow, topic: string, partition: number): void => {
    const count = recorded.get(topic)?.partitions;
    if (count === undefined || partitionForKey(stream, count) === partition) return;
    const place = `${topic}.${partition}@${offset} event ${eventId}`;
    fault({
      what: 'event',
      kind: 'moved',
      place: `${place}: stream ${stream} does not belong there by the ${count} partitions recorded`,
    });
  };
}
