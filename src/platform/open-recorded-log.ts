import type { EventLog } from '../log/event-log.ts';
import { placedLog } from '../log/placed-log.ts';
import type { Db } from '../postgres/database.ts';
import { readRecordedPartitions, recordPartitions } from '../postgres/recorded-partitions.ts';
import { furthestCursors } from '../projections/wait-until.ts';
import { findLogFaults, LogChanged, type LogFault } from './log-faults.ts';

/**
 * What is done about a log that is not as it was recorded. `refuse`: nothing is opened. `report`: it is opened to be read, with
 * the faults.
 */
export type OnLogFaults = 'refuse' | 'report';

export interface RecordedLog {
  readonly log: EventLog;
  readonly faults: readonly LogFault[];
}

// Between the clocks of the database and of the brokers; a topic that is made again sooner is seen by its ends.
const CLOCKS_MS = 3_600_000;

/**
 * Compares a log with what is recorded of its topics, makes those that were never recorded, records their partitions, and shows
 * the log with every stream in the partition that it chooses among those recorded. @throws LogChanged.
 */
export async function openRecordedLog(
  log: EventLog,
  db: Db,
  options: {
    readonly topics: readonly string[];
    /** Of a topic that is made. */
    readonly partitions: number;
    readonly onFaults: OnLogFaults;
    readonly clocksMs?: number;
  },
): Promise<RecordedLog> {
  const { topics, onFaults, clocksMs = CLOCKS_MS } = options;
  const recorded = await readRecordedPartitions(db);
  // The cursors before the ends: projectors go on folding meanwhile, and what they fold in between is no record that is lost.
  const cursors = await furthestCursors(db);
  const extents = await log.extents(topics);
  const times = [...recorded].flatMap(([topic, { heldSince }]) =>
    heldSince !== null && extents.has(topic) ? [[topic, heldSince + clocksMs] as const] : [],
  );
  const begun = await log.begunSince(new Map(times));
  // a partition that was empty then holds its first record late, and nothing was lost
  const wasHeld = (topic: string) => (partition: number) => recorded.get(topic)?.held.has(partition) ?? false;
  const madeAgain = new Map([...begun].map(([topic, partitions]) => [topic, new Set([...partitions].filter(wasHeld(topic)))]));
  const faults = findLogFaults({ partitions: countsOf(recorded), extents, cursors, madeAgain });
  if (faults.length > 0) {
    if (onFaults === 'refuse') throw new LogChanged(faults);
    return { log: readOnly(log, faults), faults };
  }
  const missing = topics.filter((topic) => !extents.has(topic));
  await log.ensureTopics(topics, options.partitions); // all: what exists is compared with what is configured
  await recordPartitions(db, new Map([...extents, ...(missing.length > 0 ? await log.extents(missing) : [])]));
  return { log: placedLog(log, countsOf(await readRecordedPartitions(db))), faults };
}

function countsOf(recorded: ReadonlyMap<string, { readonly partitions: number }>): ReadonlyMap<string, number> {
  return new Map([...recorded].map(([topic, { partitions }]) => [topic, partitions]));
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
    close: () => log.close(),
  };
}
