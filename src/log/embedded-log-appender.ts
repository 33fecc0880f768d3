import { doubling, retry } from '../runtime/retry.ts';
import { checkRecord } from './check-record.ts';
import { appendRecords, placeOf, RunsFenced } from './embedded-log-append.ts';
import { logFault } from './embedded-log-fault.ts';
import type { GrowthNotices } from './embedded-log-growth.ts';
import { findTopics, type LogTopic, type Pool, refuseUnknown } from './embedded-log-topics.ts';
import { LogError, type LogRecord, type Receipt } from './event-log.ts';
import { partitionOf } from './partition-for-key.ts';

// One transaction holds at most about this much; an append that is larger by itself still is one transaction.
const FLUSH_RECORDS = 5_000;
const FLUSH_BYTES = 8 * 1024 * 1024;

const FENCED = 'another collector took over the run; nothing was appended';

/** What says where a record lies. */
type Placing = Pick<LogRecord, 'topic' | 'key' | 'partition'>;

interface Call {
  readonly records: readonly LogRecord[];
  readonly bytes: number;
  readonly resolve: (receipts: readonly Receipt[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts appends in line. One transaction is in flight at a time and takes what has queued up behind the one before (group commit):
 * the order of the calls is kept for every key, and thirty-two single appends cost about as many syncs to disk as two. While
 * Postgres cannot be reached it tries again for `patienceMs`. A transaction whose answer was lost may then be in the log twice,
 * as after any redelivery; the reading side knows events by their ids.
 */
export class EmbeddedAppender {
  readonly #pool: Pool;
  readonly #grown: GrowthNotices;
  readonly #patienceMs: number;
  readonly #sessions: boolean;
  readonly #topics = new Map<string, LogTopic>();
  #queue: Call[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;

  /** @param sessions whether connections of the pool are sessions of one's own. */
  constructor(
    pool: Pool,
    grown: GrowthNotices,
    { patienceMs, sessions }: { readonly patienceMs: number; readonly sessions: boolean },
  ) {
    this.#pool = pool;
    this.#grown = grown;
    this.#patienceMs = patienceMs;
    this.#sessions = sessions;
  }

  /** Appends in order; resolves when durable. An async function, so that a refusal rejects. */
  async append(records: readonly LogRecord[]): Promise<readonly Receipt[]> {
    if (this.#closed) throw new LogError('closed', 'the log is closed; nothing was appended');
    let bytes = 0;
    for (const record of records) {
      checkRecord(record);
      bytes += record.value.byteLength;
    }
    if (records.length === 0) return [];
    return new Promise((resolve, reject) => {
      this.#queue.push({ records, bytes, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Returns the id of the partition in which a record would lie; undefined where its topic is unknown. */
  async place(record: Placing): Promise<number | undefined> {
    if (this.#closed) throw new LogError('closed', 'the log is closed; nothing was appended');
    await this.#learnTopics([{ records: [record] }]);
    return this.#isPlaced(record) ? placeOf(record, this.#topics).partitionId : undefined;
  }

  /** Refuses new appends and waits until those in line are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const calls = this.#take();
      try {
        await this.#flush(calls);
      } catch (error) {
        // What waits behind fails with it: a later record of a key must not overtake an earlier one.
        for (const call of [...calls, ...this.#queue.splice(0)]) call.reject(error);
      }
    }
    this.#draining = undefined;
  }

  #take(): Call[] {
    let [count, bytes, records] = [0, 0, 0];
    for (const call of this.#queue) {
      bytes += call.bytes;
      records += call.records.length;
      if (count > 0 && (records > FLUSH_RECORDS || bytes > FLUSH_BYTES)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** Appends calls in one transaction; those of a replaced collector are refused, and the others appended without them. */
  async #flush(calls: readonly Call[]): Promise<void> {
    try {
      await this.#append(calls);
    } catch (error) {
      if (!(error instanceof RunsFenced)) throw error;
      const fenced = calls.filter(({ records }) => records.some(({ fence }) => fence && error.runIds.has(fence.runId)));
      if (fenced.length === 0) throw error;
      for (const call of fenced) call.reject(new LogError('fenced', FENCED, { cause: error }));
      const others = calls.filter((call) => !fenced.includes(call));
      if (others.length > 0) await this.#flush(others);
    }
  }

  async #append(calls: readonly Call[]): Promise<void> {
    const receipts = await this.#withRetry(async () => {
      await this.#learnTopics(calls);
      const known = calls.filter((call) => call.records.every((record) => this.#isPlaced(record)));
      return known.length === 0
        ? []
        : appendRecords(
            this.#pool,
            this.#topics,
            known.flatMap((call) => call.records),
            this.#grown,
            this.#sessions,
          );
    });
    let given = 0;
    for (const call of calls) {
      try {
        refuseUnknown([...new Set(call.records.map(({ topic }) => topic))], this.#topics);
        const outside = call.records.find((record) => !this.#isPlaced(record));
        if (outside) partitionOf(outside, this.#partitionsOf(outside.topic));
      } catch (refusal) {
        call.reject(refusal); // this call alone
        continue;
      }
      call.resolve(receipts.slice(given, given + call.records.length));
      given += call.records.length;
    }
  }

  #isPlaced({ topic, partition }: Placing): boolean {
    if (partition === undefined) return this.#topics.has(topic);
    return Number.isInteger(partition) && partition >= 0 && partition < this.#partitionsOf(topic);
  }

  #partitionsOf(topic: string): number {
    return this.#topics.get(topic)?.partitionIds.length ?? 0;
  }

  async #learnTopics(calls: readonly { readonly records: readonly Placing[] }[]): Promise<void> {
    // A topic may have got more partitions since it was looked up.
    const missing = new Set<string>();
    for (const { records } of calls) for (const record of records) if (!this.#isPlaced(record)) missing.add(record.topic);
    if (missing.size === 0) return;
    for (const [name, topic] of await findTopics(this.#pool, [...missing])) this.#topics.set(name, topic);
  }

  #withRetry<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, {
      pauseMs: doubling(50, 2_000),
      again: ({ error, elapsedMs, pauseMs }) => {
        if (error instanceof RunsFenced) throw error;
        const fault = logFault('appending', error);
        if (!fault.retryable || elapsedMs + pauseMs > this.#patienceMs) throw fault;
        return true;
      },
    });
  }
}
