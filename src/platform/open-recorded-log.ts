import type { EventLog } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import { readRecordedPartitions, recordPartitions } from '../postgres/log-identity.ts';
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

/**
 * Compares a log with what is recorded of its topics, makes those that were never recorded, records their partitions, and shows
 * the log: a key chooses among the partitions that it had then, as long as the process lives. @throws LogChanged.
 */
export async function openRecordedLog(
  log: EventLog,
  db: Db,
  options: {
    readonly topics: readonly string[];
    /** Of a topic that is made. */
    readonly partitions: number;
    readonly onFaults: OnLogFaults;
  },
): Promise<RecordedLog> {
  const { topics, onFaults } = options;
  const recorded = await readRecordedPartitions(db);
  // The cursors before the ends: projectors go on folding meanwhile, and what they fold in between is no record that is lost.
  const cursors = await furthestCursors(db);
  const extents = await log.extents(topics);
  const faults = findLogFaults({ partitions: recorded, extents, cursors });
  if (faults.length > 0) {
    if (onFaults === 'refuse') throw new LogChanged(faults);
    return { log: readOnly(log, faults), faults };
  }
  const missing = topics.filter((topic) => !extents.has(topic));
  await log.ensureTopics(topics, options.partitions); // all: what exists is compared with what is configured
  await recordPartitions(db, new Map([...extents, ...(missing.length > 0 ? await log.extents(missing) : [])]));
  return { log, faults };
}

/** Shows a log that is not as it was recorded: what it holds can be asked, and nothing is appended to it or folded from it. */
function readOnly(log: EventLog, faults: readonly LogFault[]): EventLog {
  const refuse = () => Promise.reject(new LogChanged(faults));
  return {
    ensureTopics: refuse,
    append: refuse,
    restore: refuse,
    subscribe: refuse,
    identity: () => log.identity(),
    ends: (topics) => log.ends(topics),
    extents: (topics) => log.extents(topics),
    unread: (group, topics) => log.unread(group, topics),
    close: () => log.close(),
  };
}
