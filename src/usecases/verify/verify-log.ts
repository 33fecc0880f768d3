import { TOPICS } from '../../events/catalogue.ts';
import { type Layouts, mayLieAt, partitionsInUse } from '../../log/layout.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { compareReadModels } from '../../projections/compare-read-models.ts';
import { readSplitStreams } from '../../projections/journal/read-stream-topics.ts';
import type { JournalRow } from '../../projections/journal-chain/columns-off-body.ts';
import { readHoles } from '../../projections/journal-chain/read-holes.ts';
import type { Fault } from './verification.ts';

const ROWS_SHOWN = 20; // of each table

/**
 * Names how the log, the journal and the read models do not agree: topics that changed or lost records, offsets that were passed
 * without a trace, streams that lie in two places, and rows without events or events without rows. Read models are
 * compared with an intact journal only: what was changed in it is named already.
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
  for (const { stream, topic, partitions } of await readSplitStreams(db))
    fault({
      what: 'event',
      kind: 'moved',
      place: `stream ${stream} lies in the partitions ${partitions.join(' and ')} of ${topic}`,
    });
  if (!journal.isIntact) return;
  for (const { table, kind, id, projection } of await compareReadModels(db, ROWS_SHOWN))
    fault({ what: 'read model', kind, place: `${projection}: ${table} ${id}` });
}

/** Returns a check of every event: whether a layout that was recorded by then puts its stream where it lies. */
export function checkPlaces(layouts: Layouts, fault: (found: Fault) => void) {
  return ({ offset, eventId, stream }: JournalRow, topic: string, partition: number): void => {
    const recorded = layouts.get(topic);
    if (!recorded || mayLieAt(recorded, stream, partition, offset)) return;
    const place = `${topic}.${partition}@${offset} event ${eventId}`;
    const used = partitionsInUse(layouts, topic);
    fault({
      what: 'event',
      kind: 'moved',
      place: `${place}: stream ${stream} does not belong there by the ${used} partitions recorded`,
    });
  };
}
