import type { EventLog, Extents, Offsets } from './event-log.ts';

/**
 * Shows a log under a prefix of one's own: topic `trees` is `<prefix>trees` in the cluster, and so are the groups. Several
 * installations, tests or benchmarks share a cluster without meeting.
 */
export function prefixedLog(log: EventLog, prefix: string): EventLog {
  const own = (topic: string): string => `${prefix}${topic}`;
  const bare = (topic: string): string => topic.slice(prefix.length);
  return {
    ensureTopics: (topics, partitions) => log.ensureTopics(topics.map(own), partitions),
    append: async (records) => {
      const receipts = await log.append(records.map((record) => ({ ...record, topic: own(record.topic) })));
      return receipts.map((receipt) => ({ ...receipt, topic: bare(receipt.topic) }));
    },
    restore: (batch) => log.restore({ ...batch, topic: own(batch.topic) }),
    subscribe: ({ startAt, ...options }) =>
      log.subscribe({
        ...options,
        ...(startAt ? { startAt: (topic: string, partition: number) => startAt(bare(topic), partition) } : {}),
        group: own(options.group),
        topics: options.topics.map(own),
        handle: (batch, signal) => options.handle({ ...batch, topic: bare(batch.topic) }, signal),
      }),
    identity: async () => `${await log.identity()}/${prefix}`,
    ends: async (topics): Promise<Offsets> => {
      const ends = await log.ends(topics.map(own));
      return new Map([...ends].map(([topic, partitions]) => [bare(topic), partitions]));
    },
    extents: async (topics): Promise<Extents> => {
      const extents = await log.extents(topics.map(own));
      return new Map([...extents].map(([topic, partitions]) => [bare(topic), partitions]));
    },
    unread: async (group, topics) => {
      const unread = await log.unread(own(group), topics.map(own));
      return new Map([...unread].map(([topic, partitions]) => [bare(topic), partitions]));
    },
    close: () => log.close(),
  };
}
