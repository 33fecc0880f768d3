import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { LogBatch, StoredRecord } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { chainDigest } from '../../projections/journal-chain/chain.ts';
import { type Chained, readChainEnds, readChained, readSetAside } from '../../projections/journal-chain/read-chained.ts';
import type { Fault } from './verification.ts';
import { foreignEvents } from './verify-owners.ts';

const BATCH_LIMIT = 2_000; // with the bytes of a fetch that bounds what is in memory

/** How far the reading of the log is: records, and how many there are to read. */
export type LogProgress = (read: number, all: number) => void;

/**
 * Reads every record of the log that was folded and compares it with what the database remembers of its place: the digest of the
 * chain speaks for the bytes, the row for the time at which the log took it, the quarantine for what was set aside. A log that
 * was rewritten in place, with the same ends and times, is seen here. Names events of keys that neither own their stream nor may
 * add to it as well. Returns how many records were read.
 */
export async function verifyLogRecords(
  { log, database: { db } }: Pick<Platform, 'log' | 'database'>,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: LogProgress },
  fault: (found: Fault) => void,
): Promise<number> {
  const [ends, extents] = [await readChainEnds(db), await log.extents(TOPICS)];
  const left = new Map<string, { next: number; readonly end: number }>(); // by topic.partition
  for (const [topic, partitions] of extents)
    for (const [partition, { first, next }] of partitions) {
      const end = Math.min(next, ends.get(topic)?.get(partition) ?? 0);
      if (first < end) left.set(`${topic}.${partition}`, { next: first, end });
    }
  if (left.size === 0) return 0;
  const all = [...left.values()].reduce((sum, { next, end }) => sum + end - next, 0);
  let read = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });

  async function compare(batch: LogBatch): Promise<void> {
    const { topic, partition } = batch;
    const place = left.get(`${topic}.${partition}`);
    if (!place || batch.next <= place.next) return; // read before, or behind the end
    // What the log dropped since it was asked what it holds is missing below the batch.
    const [from, next] = [place.next, Math.min(batch.next, place.end)];
    const records = batch.records.filter(({ offset }) => offset >= from && offset < next);
    for (const found of await compareRun({ ...batch, from, next, records })) fault(found);
    for (const found of await foreignEvents(db, topic, partition, records)) fault(found);
    place.next = next;
    read += next - from;
    progress?.(read, all);
    if (next < place.end) return;
    left.delete(`${topic}.${partition}`);
    if (left.size === 0) finish();
  }

  async function compareRun({ topic, partition, from, next, records }: LogBatch): Promise<readonly Fault[]> {
    const { entries, receivedBefore, released } = await readChained(db, topic, partition, from, next);
    const unchained = records.flatMap(({ offset }) => (entries.has(offset) ? [] : [offset]));
    const setAside = await readSetAside(db, topic, partition, unchained);
    const found: Fault[] = [];
    const name = (kind: Fault['kind'], offset: number, what: string) =>
      found.push({ what: 'log', kind, place: `${topic}.${partition}@${offset} ${what}` });
    const seen = new Set(records.map(({ offset }) => offset));
    for (const [offset, { eventId }] of entries)
      if (!seen.has(offset)) name('missing', offset, `event ${eventId}: the log no longer holds it`);
    let received = receivedBefore;
    for (const record of records) {
      const { offset } = record;
      const chained = entries.get(offset);
      if (chained) {
        const off = differenceOf(record, chained);
        if (off !== null) name('changed', offset, `event ${chained.eventId}: ${off}`);
        const kept = chained.row ? chained.row.receivedAt : (released.get(offset) ?? null);
        if (kept === null) continue; // nobody asked the log for the time when it was folded, or no row is kept of it
        const due = Math.max(record.receivedAt ?? kept, received ?? kept);
        if (kept !== due && off === null)
          name(
            'changed',
            offset,
            `event ${chained.eventId}: the log took it at ${timeOf(due)}, the journal says ${timeOf(kept)}`,
          );
        received = kept;
      } else {
        const bytes = setAside.get(offset);
        if (!bytes) name('foreign', offset, `${said(record)}: the journal neither holds it nor set it aside`);
        else if (!bytes.equals(record.value)) name('changed', offset, 'was set aside with other bytes than the log holds');
      }
    }
    return found;
  }

  const subscription = await log.subscribe({
    group: `verify-${newId()}`,
    ephemeral: true,
    topics: [...new Set([...left.keys()].map((place) => place.slice(0, place.lastIndexOf('.'))))],
    batchLimit: BATCH_LIMIT,
    startAt: async (topic, partition) => left.get(`${topic}.${partition}`)?.next ?? extents.get(topic)?.get(partition)?.next,
    async handle(batch) {
      await compare(batch);
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
  return read;
}

/** Describes what a record of the log has that the chain does not; null when its bytes are those that were chained. */
function differenceOf(record: StoredRecord, { before, digest, eventId, row }: Chained): string | null {
  if (Buffer.compare(chainDigest(before, record.offset, record.value), digest) === 0) return null;
  const { id, stream } = headOf(record);
  if (id !== undefined && id !== eventId) return `the log holds event ${id} in its place`;
  if (stream !== undefined && row && stream !== row.stream)
    return `the log holds it in stream ${stream}, the journal in ${row.stream}`;
  return 'the log holds other content than was folded';
}

function said(record: StoredRecord): string {
  const { id } = headOf(record);
  return id === undefined ? 'a record that is no event' : `event ${id}`;
}

function headOf({ value }: StoredRecord): { readonly id?: string; readonly stream?: string } {
  try {
    const { id, stream } = JSON.parse(Buffer.from(value).toString('utf8')) as Record<string, unknown>;
    return { ...(typeof id === 'string' ? { id } : {}), ...(typeof stream === 'string' ? { stream } : {}) };
  } catch {
    return {};
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
