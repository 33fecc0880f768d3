import { openCache } from '../runtime/cache.ts';
import { retry } from '../runtime/retry.ts';
import { logFault } from './embedded-log-fault.ts';
import { type EventLog, LogError, type LogRecord, type Offsets, type PlacedWork, type Receipt } from './event-log.ts';
import { type Layouts, mayLieElsewhere, partitionOfNew, partitionsInUse } from './layout.ts';

/** What the record of partitions says at a moment. */
export interface Placing {
  readonly layouts: Layouts;
  /** Another layout is being adopted: until that has ended no record is placed. */
  readonly adoption: string | null;
}

/** Where the layouts of a log are recorded, as one process that appends sees it. */
export interface LayoutStore {
  read(): Promise<Layouts>;
  /**
   * Reads the record, and notes that this process places records by it from now on. @param acknowledged the adoption before
   * which nothing that it placed is still on its way.
   */
  confirm(acknowledged: string | null): Promise<Placing>;
  /** Notes that this process appends no more. */
  leave(): Promise<void>;
  /** Returns the partitions in which streams of a topic lie; those without a record are left out. */
  find(topic: string, streams: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

/** How long a process places records by a layout that it could not confirm again, ms: an outage of the database that is shorter
 * holds up no append. */
export const LAYOUT_AGE_MS = 60_000;
const CONFIRM_MS = 3_000;
const HELD_MS = 200;
const PATIENCE_MS = 120_000; // as an append waits for brokers
const STREAMS_KEPT = 100_000;
const NOTHING = new Uint8Array();

/** A partition that no recorded layout uses holds records. */
export class PartitionNotAdopted extends Error {
  override readonly name = 'PartitionNotAdopted';
  constructor(topic: string, partition: number, used: number) {
    super(
      `partition ${partition} of topic ${topic} holds records, and ${used} partitions of it are recorded as in use: they were appended by a program that counts the partitions of the topic, or by a newer copy of this database; \`espalier log adopt-partitions\` records where the streams lie`,
    );
  }
}

export interface PlacedLogOptions {
  readonly layouts: Layouts;
  readonly store: LayoutStore;
  /** Whether partitions that no layout uses are delivered: to who is about to adopt them. */
  readonly unadopted: 'refused' | 'delivered';
}

/**
 * Shows a log whose streams lie in the partitions that were recorded for them, however many partitions its topics have by now. A
 * stream stays in the partition of its first record; a new one follows the newest layout. Partitions that no layout uses are not
 * part of the log. Every process that appends confirms the layouts again every few seconds, so that all of them agree.
 */
export function placedLog(log: EventLog, options: PlacedLogOptions): EventLog {
  const { store } = options;
  const lying = openCache<string>({ max: STREAMS_KEPT });
  let layouts = options.layouts;
  let adoption: string | null = null;
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let confirming: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let inFlight = 0;
  let closed = false;
  let tail: Promise<unknown> = Promise.resolve();
  let elsewhere: Promise<unknown> = Promise.resolve(); // what others append at places that they were given
  const { whilePlaced } = log;

  return {
    ensureTopics: (topics, partitions) => log.ensureTopics(topics, partitions),
    append,
    ...(whilePlaced && { whilePlaced: (of, work) => placeElsewhere(whilePlaced, of, work) }),
    async subscribe(subscribing) {
      return log.subscribe({
        ...subscribing,
        handle: async (batch, signal) => {
          if (batch.records.length > 0) await refuseUnadopted(batch.topic, batch.partition);
          return subscribing.handle(batch, signal);
        },
      });
    },
    identity: () => log.identity(),
    ends: async (topics) => inUse(await log.ends(topics)),
    extents: (topics) => log.extents(topics),
    begunSince: (times) => log.begunSince(times),
    unread: (group, topics) => log.unread(group, topics),
    undated: (topics) => log.undated(topics),
    date: (topic) => log.date(topic),
    async close() {
      closed = true;
      clearTimeout(timer);
      await tail; // what is being placed is still handed over
      await elsewhere;
      await log.close();
      if (confirmedAt >= 0) await store.leave().catch(() => undefined); // the note of it expires
    },
  };

  /** An async function, so that a refusal rejects. */
  async function append(records: readonly LogRecord[]): Promise<readonly Receipt[]> {
    if (closed || records.length === 0) return log.append(records);
    // One after the other, so that the log hears of them in the order of the calls; nobody waits for the log here.
    const handed = tail.then(() => place(records)).then((placed) => ({ receipts: send(placed) }));
    tail = handed.catch(() => undefined);
    return handed.then(({ receipts }) => receipts);
  }

  async function placeElsewhere<T>(
    whilePlaced: NonNullable<EventLog['whilePlaced']>,
    of: Pick<LogRecord, 'topic' | 'key' | 'partition'>,
    work: PlacedWork<T>,
  ): Promise<T> {
    if (!closed && !isSettled()) await confirm().catch(() => undefined); // then there is no place now
    if (closed || !isSettled()) return work(undefined);
    const [placed] = await place([{ ...of, value: NOTHING }]);
    const done = whilePlaced(placed ?? of, work).finally(() => inFlight--);
    elsewhere = Promise.allSettled([elsewhere, done]).then(() => undefined); // else each keeps all before it
    return done;
  }

  async function place(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    await confirmed();
    inFlight++; // in the same turn in which no adoption was known of
    try {
      await findStreams(records);
      return records.map((record) => placeOne(record));
    } catch (error) {
      inFlight--;
      throw error;
    }
  }

  async function send(placed: readonly LogRecord[]): Promise<readonly Receipt[]> {
    try {
      return await log.append(placed);
    } finally {
      inFlight--;
    }
  }

  /** Leaves to the log what names its partition, and what it refuses: unknown topics and missing keys. */
  function placeOne(record: LogRecord): LogRecord {
    const recorded = layouts.get(record.topic);
    if (record.partition !== undefined || !recorded || typeof record.key !== 'string' || record.key === '') return record;
    if (!mayLieElsewhere(recorded)) return { ...record, partition: partitionOfNew(recorded, record.key) };
    const name = `${record.topic} ${record.key}`;
    const partition = lying.get(name) ?? String(partitionOfNew(recorded, record.key));
    lying.set(name, partition);
    return { ...record, partition: Number(partition) };
  }

  async function findStreams(records: readonly LogRecord[]): Promise<void> {
    const asked = new Map<string, Set<string>>();
    for (const { topic, key, partition } of records) {
      const recorded = layouts.get(topic);
      if (partition !== undefined || !recorded || !mayLieElsewhere(recorded) || lying.has(`${topic} ${key}`)) continue;
      asked.set(topic, (asked.get(topic) ?? new Set()).add(key));
    }
    for (const [topic, streams] of asked) {
      const found = await withRetry(() => store.find(topic, [...streams]));
      for (const [stream, partition] of found) lying.set(`${topic} ${stream}`, String(partition));
    }
  }

  function isSettled(): boolean {
    return adoption === null && performance.now() - confirmedAt < LAYOUT_AGE_MS;
  }

  /** Waits until the layouts are confirmed and none is being adopted. */
  async function confirmed(): Promise<void> {
    if (isSettled()) return;
    await withRetry(async () => {
      await confirm();
      if (!isSettled()) throw new LogError('unreachable', 'the partitions of the log are being adopted', { retryable: true });
    });
  }

  function confirm(): Promise<void> {
    confirming ??= confirmOnce().finally(() => {
      confirming = undefined;
      clearTimeout(timer);
      if (!closed) timer = setTimeout(() => confirm().catch(() => undefined), adoption === null ? CONFIRM_MS : HELD_MS).unref();
    });
    return confirming;
  }

  async function confirmOnce(): Promise<void> {
    const began = performance.now(); // what is read is at least as new
    const read = await store.confirm(adoption !== null && inFlight === 0 ? adoption : null);
    adoption = read.adoption;
    take(read.layouts);
    confirmedAt = began;
  }

  function take(read: Layouts): void {
    const count = (of: Layouts) => [...of.values()].reduce((sum, all) => sum + all.length, 0);
    if (count(read) !== count(layouts)) lying.clear(); // a stream that was new then lies in the record by now
    layouts = read;
  }

  async function withRetry<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, {
      pauseMs: HELD_MS,
      again: ({ error, elapsedMs }) => {
        const fault = logFault('confirming the partitions of streams', error);
        if (!fault.retryable || closed || elapsedMs > PATIENCE_MS) throw fault;
        return true;
      },
    });
  }

  async function refuseUnadopted(topic: string, partition: number): Promise<void> {
    const isUsed = () => partition < (partitionsInUse(layouts, topic) ?? Number.POSITIVE_INFINITY);
    if (options.unadopted === 'delivered' || isUsed()) return;
    take(await store.read());
    if (!isUsed()) throw new PartitionNotAdopted(topic, partition, partitionsInUse(layouts, topic) ?? 0);
  }

  async function inUse(ends: Offsets): Promise<Offsets> {
    if (options.unadopted === 'delivered') return ends;
    const isMore = ([topic, partitions]: readonly [string, ReadonlyMap<number, number>]) =>
      partitions.size > (partitionsInUse(layouts, topic) ?? partitions.size);
    if ([...ends].some(isMore)) take(await store.read());
    return new Map(
      [...ends].map(([topic, partitions]) => {
        const used = partitionsInUse(layouts, topic) ?? partitions.size;
        return [topic, new Map([...partitions].filter(([partition]) => partition < used))];
      }),
    );
  }
}
