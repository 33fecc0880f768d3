import { newId } from '../events/new-id.ts';
import type { EventLog, Extents, LogBatch } from './event-log.ts';

/**
 * Reads what a log holds of some ranges of its partitions, by a group of its own, and resolves when all of it was handled. Batches
 * of a partition come in order and continue each other; what the log no longer holds is missing from their records. Outages are
 * waited out. @param ranges must name every partition of its topics; a range may be empty.
 */
export async function readRecords(
  log: EventLog,
  ranges: Extents,
  {
    name,
    batchLimit,
    signal,
    handle,
  }: {
    /** Begins the name of the group. */
    readonly name: string;
    readonly batchLimit: number;
    readonly signal: AbortSignal;
    readonly handle: (batch: LogBatch) => Promise<void>;
  },
): Promise<void> {
  const left = new Map<string, { next: number; readonly end: number }>(); // by topic.partition
  for (const [topic, partitions] of ranges)
    for (const [partition, { first, next }] of partitions)
      if (first < next) left.set(`${topic}.${partition}`, { next: first, end: next });
  if (left.size === 0) return;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });

  async function take(batch: LogBatch): Promise<void> {
    const place = left.get(`${batch.topic}.${batch.partition}`);
    if (!place || batch.next <= place.next) return; // read before, or behind the end
    const [from, next] = [place.next, Math.min(batch.next, place.end)];
    await handle({ ...batch, from, next, records: batch.records.filter(({ offset }) => offset >= from && offset < next) });
    place.next = next;
    if (next < place.end) return;
    left.delete(`${batch.topic}.${batch.partition}`);
    if (left.size === 0) finish();
  }

  const subscription = await log.subscribe({
    group: `${name}-${newId()}`,
    ephemeral: true,
    topics: [...new Set([...left.keys()].map((place) => place.slice(0, place.lastIndexOf('.'))))],
    batchLimit,
    startAt: async (topic, partition) => left.get(`${topic}.${partition}`)?.next ?? ranges.get(topic)?.get(partition)?.next,
    async handle(batch) {
      await take(batch);
      return { kind: 'done', next: batch.next };
    },
  });
  signal.addEventListener('abort', finish, { once: true });
  try {
    if (!signal.aborted) await Promise.race([finished, subscription.finished]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', finish);
    await subscription.close();
  }
}
