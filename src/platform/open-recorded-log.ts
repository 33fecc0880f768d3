import { newId } from '../events/new-id.ts';
import type { EventLog, Extent } from '../log/event-log.ts';
import type { Layout } from '../log/layout.ts';
import { placedLog } from '../log/placed-log.ts';
import type { Db } from '../postgres/database.ts';
import { confirmLayouts, forgetAppender, readLayouts, recordFirstLayouts } from '../postgres/log-layouts.ts';
import { noteHeldPartitions, readHeldSince } from '../postgres/log-partitions-seen.ts';
import { readStreamPartitions } from '../projections/journal/read-stream-partitions.ts';
import { furthestCursors } from '../projections/wait-until.ts';
import { findLogFaults, LogChanged, type LogFault } from './log-faults.ts';

/**
 * What is done about a log that is not as it was recorded. `refuse`: nothing is opened. `report`: it is opened to be read, with
 * the faults. `adopt`: partitions that nobody adopted are taken as they are, everything else is refused.
 */
export type OnLogFaults = 'refuse' | 'report' | 'adopt';

export interface RecordedLog {
  readonly log: EventLog;
  readonly faults: readonly LogFault[];
}

// Between the clocks of the database and of the brokers; a topic that is made again sooner is seen by its ends.
const CLOCKS_MS = 3_600_000;

/**
 * Compares a log with what is recorded of its topics, makes those that were never recorded, records their partitions, and shows
 * the log with every stream in the partition that is recorded for it. @throws LogChanged.
 */
export async function openRecordedLog(
  log: EventLog,
  db: Db,
  options: {
    readonly name: string;
    readonly topics: readonly string[];
    readonly partitions: number;
    readonly onFaults: OnLogFaults;
    readonly clocksMs?: number;
  },
): Promise<RecordedLog> {
  const { name, topics, onFaults } = options;
  const recorded = await readLayouts(db);
  const heldSince = await readHeldSince(db);
  // The cursors before the ends: projectors go on folding meanwhile, and what they fold in between is no record that is lost.
  const cursors = await furthestCursors(db);
  const extents = await log.extents(topics);
  const times = new Map([...heldSince].map(([topic, { at }]) => [topic, at + (options.clocksMs ?? CLOCKS_MS)]));
  const begun = await log.begunSince(new Map([...times].filter(([topic]) => extents.has(topic))));
  // a partition that was empty then holds its first record late, and nothing was lost
  const wasHeld = (topic: string) => (partition: number) => heldSince.get(topic)?.partitions.has(partition) ?? false;
  const madeAgain = new Map([...begun].map(([topic, partitions]) => [topic, new Set([...partitions].filter(wasHeld(topic)))]));
  const known = { layouts: recorded, extents, cursors, madeAgain };
  const faults = findLogFaults(known).filter(({ kind }) => onFaults !== 'adopt' || kind !== 'not-adopted');
  if (faults.length > 0 && onFaults !== 'report') throw new LogChanged(faults);
  if (faults.length === 0) {
    const missing = topics.filter((topic) => !extents.has(topic));
    await log.ensureTopics(missing, options.partitions);
    const now = missing.length > 0 ? await log.extents(topics) : extents;
    const unrecorded = [...now].filter(([topic]) => !recorded.has(topic));
    await recordFirstLayouts(db, new Map(unrecorded.map(([topic, partitions]) => [topic, layoutOf(partitions)])));
    await noteHeldPartitions(db, now);
  }
  const appender = { id: newId(), name };
  const store = {
    read: () => readLayouts(db),
    confirm: (acknowledged: string | null) => confirmLayouts(db, appender, acknowledged),
    leave: () => forgetAppender(db, appender.id),
    find: (topic: string, streams: readonly string[]) => readStreamPartitions(db, topic, streams),
  };
  const layouts = await readLayouts(db);
  const unadopted = onFaults === 'adopt' ? 'delivered' : 'refused';
  const placed = placedLog(log, { layouts, store, unadopted });
  return { log: faults.length > 0 ? readOnly(placed, faults) : placed, faults };
}

/** Shows a log that is not as it was recorded: what it holds can be asked, and nothing is appended to it or folded from it. */
function readOnly(log: EventLog, faults: readonly LogFault[]): EventLog {
  const refuse = () => Promise.reject(new LogChanged(faults));
  return {
    ensureTopics: refuse,
    append: refuse,
    subscribe: refuse,
    identity: () => log.identity(),
    ends: (topics) => log.ends(topics),
    extents: (topics) => log.extents(topics),
    begunSince: (times) => log.begunSince(times),
    unread: (group, topics) => log.unread(group, topics),
    undated: (topics) => log.undated(topics),
    date: refuse,
    close: () => log.close(),
  };
}

/** The layout of a topic as it is, with every partition in use. */
export function layoutOf(partitions: ReadonlyMap<number, Extent>): Layout {
  return {
    partitions: partitions.size,
    ends: Array.from({ length: partitions.size }, (_, partition) => partitions.get(partition)?.next ?? 0),
  };
}
