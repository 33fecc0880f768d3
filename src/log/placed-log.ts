import type { EventLog, LogRecord } from './event-log.ts';
import { partitionForKey } from './partition-for-key.ts';

/**
 * Shows a log in which a key chooses among the partitions that are recorded for its topic, so that partitions which an
 * administrator adds while processes run move no stream.
 */
export function placedLog(log: EventLog, partitions: ReadonlyMap<string, number>): EventLog {
  const { whilePlaced } = log;
  return {
    ensureTopics: (topics, count) => log.ensureTopics(topics, count),
    append: (records) => log.append(records.map(place)),
    ...(whilePlaced && { whilePlaced: (of, work) => whilePlaced(place(of), work) }),
    subscribe: (options) => log.subscribe(options),
    identity: () => log.identity(),
    ends: (topics) => log.ends(topics),
    extents: (topics) => log.extents(topics),
    begunSince: (times) => log.begunSince(times),
    unread: (group, topics) => log.unread(group, topics),
    close: () => log.close(),
  };

  /** Leaves to the log what names its partition, and what it refuses: unknown topics and missing keys. */
  function place<R extends Pick<LogRecord, 'topic' | 'key' | 'partition'>>(record: R): R {
    const count = partitions.get(record.topic);
    if (record.partition !== undefined || count === undefined || typeof record.key !== 'string') return record;
    return { ...record, partition: partitionForKey(record.key, count) };
  }
}
