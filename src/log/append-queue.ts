import { LogError, type LogRecord, RECORD_LIMIT, type Receipt, RecordTooLarge, type StoredRecord } from './event-log.ts';

/** A record whose partition is known. */
export interface QueuedRecord {
  readonly record: LogRecord;
  readonly partition: number;
  /** What another log says of a record that is restored from it. */
  readonly restored?: Pick<StoredRecord, 'key' | 'receivedAt'>;
}

export interface AppendQueueOptions {
  /** Finds the partitions of records. A throw refuses the append that brought them, alone. */
  readonly place: (records: readonly LogRecord[]) => Promise<readonly QueuedRecord[]>;
  /** Makes records durable, in order, and returns the offset of each. */
  readonly send: (records: readonly QueuedRecord[]) => Promise<readonly number[]>;
}

// One send holds at most this much. Kafka takes one record batch per partition of it, which must stay below the topic's
// max.message.bytes, so a partition's share is bounded as well; a single larger record travels alone in its partition's share.
const SEND_RECORDS = 10_000;
const SEND_BYTES = 8 * 1024 * 1024;
export const PARTITION_BYTES = 900 * 1024; // the topics that we make take 2 MiB; a send that is tried again costs less
export const RECORD_OVERHEAD = 96; // lengths, deltas, attributes and a header around key and value, at most

interface Entry {
  readonly records: readonly LogRecord[];
  placed: readonly QueuedRecord[] | undefined;
  sent: number;
  readonly receipts: Receipt[];
  readonly resolve: (receipts: readonly Receipt[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Taken {
  readonly entry: Entry;
  readonly placed: QueuedRecord;
}

/**
 * Puts appends in line and sends them one batch at a time, each taking whatever has queued up behind the one before: order is
 * kept without waiting for each append, and a busy producer makes few large sends by itself.
 */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #entries: Entry[] = [];
  #draining: Promise<void> = Promise.resolve();
  #busy = false;
  #closed = false;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /** Queues records; resolves when they are durable. @throws RangeError on an empty key; LogError. */
  async append(records: readonly LogRecord[]): Promise<readonly Receipt[]> {
    if (this.#closed) throw new LogError('closed', 'the log is closed; nothing was appended');
    for (const record of records) checkRecord(record);
    if (records.length === 0) return [];
    return new Promise((resolve, reject) => {
      this.#entries.push({ records, placed: undefined, sent: 0, receipts: [], resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      this.#draining = this.#drain();
    });
  }

  /** Refuses new appends and waits for those in the queue to be answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#entries.length > 0) {
      await this.#placeAll();
      const taken = this.#take();
      if (taken.length === 0) continue; // every waiting append was refused
      try {
        await this.#send(taken);
      } catch (error) {
        this.#failAll(error);
        continue;
      }
      this.#settle();
    }
    this.#busy = false;
  }

  /**
   * Sends records. When one is refused as too large or fenced, all that travelled with it are sent again in halves, until the one
   * to blame is alone: its append is refused, of one that is too large with the number of its records that are durable, and no
   * other. What was appended before the refusal may be in the log twice, as after any redelivery.
   */
  async #send(taken: readonly Taken[]): Promise<void> {
    const sending = taken.filter(({ entry }) => this.#entries.includes(entry)); // not refused by the half before
    if (sending.length === 0) return;
    try {
      const offsets = await this.#options.send(sending.map(({ placed }) => placed));
      for (const [i, { entry, placed }] of sending.entries()) {
        const offset = offsets[i];
        if (offset === undefined) throw new TypeError('a send returns one offset per record');
        entry.receipts.push({ topic: placed.record.topic, partition: placed.partition, offset });
      }
    } catch (error) {
      if (!(error instanceof LogError) || (error.code !== 'too-large' && error.code !== 'fenced')) throw error;
      const [first] = sending;
      if (sending.length > 1) {
        await this.#send(sending.slice(0, sending.length >> 1));
        await this.#send(sending.slice(sending.length >> 1));
      } else if (first) this.#refuse(first.entry, error);
    }
  }

  #refuse(entry: Entry, error: LogError): void {
    this.#entries = this.#entries.filter((other) => other !== entry);
    const appended = entry.receipts.length;
    entry.reject(
      error instanceof RecordTooLarge ? new RecordTooLarge(error.message, { limit: error.limit, appended, cause: error }) : error,
    );
  }

  async #placeAll(): Promise<void> {
    const refused = new Set<Entry>();
    for (const entry of [...this.#entries]) {
      if (entry.placed !== undefined) continue;
      try {
        entry.placed = await this.#options.place(entry.records);
      } catch (error) {
        refused.add(entry);
        entry.reject(error);
      }
    }
    if (refused.size > 0) this.#entries = this.#entries.filter((entry) => !refused.has(entry));
  }

  /** Takes the longest run from the front of the queue that fits one send. */
  #take(): Taken[] {
    const taken: Taken[] = [];
    const perPartition = new Map<string, number>();
    let total = 0;
    for (const entry of this.#entries) {
      if (entry.placed === undefined) break; // it came while others were being placed
      for (const placed of entry.placed.slice(entry.sent)) {
        const place = `${placed.record.topic}/${placed.partition}`;
        const bytes = sizeOf(placed.record) + RECORD_OVERHEAD;
        const share = perPartition.get(place) ?? 0;
        const full =
          taken.length === SEND_RECORDS || total + bytes > SEND_BYTES || (share > 0 && share + bytes > PARTITION_BYTES);
        if (full && taken.length > 0) return taken;
        perPartition.set(place, share + bytes);
        total += bytes;
        entry.sent++;
        taken.push({ entry, placed });
      }
    }
    return taken;
  }

  #settle(): void {
    let settled = 0;
    for (const entry of this.#entries) {
      if (entry.receipts.length < entry.records.length) break;
      entry.resolve(entry.receipts);
      settled++;
    }
    this.#entries.splice(0, settled);
  }

  /** What waits behind a failed send fails with it: a later record of a key must not overtake an earlier one. */
  #failAll(error: unknown): void {
    for (const entry of this.#entries.splice(0)) entry.reject(error);
  }
}

/** The bytes of a record, without what Kafka puts around it. */
function sizeOf({ key, value }: Pick<LogRecord, 'key' | 'value'>): number {
  return Buffer.byteLength(key) + value.byteLength;
}

/** Refuses a record that no log takes. @throws RangeError on a missing key; RecordTooLarge. */
function checkRecord({ topic, key, value }: LogRecord): void {
  if (typeof key !== 'string' || key === '') throw new RangeError(`a record of ${topic} needs a key: it chooses the partition`);
  if (key.includes('\0')) throw new RangeError(`a key of ${topic} holds a NUL character, which Postgres cannot store`);
  const bytes = sizeOf({ key, value });
  if (bytes <= RECORD_LIMIT) return;
  throw new RecordTooLarge(
    `a record of ${topic} has ${bytes} bytes, the limit is ${RECORD_LIMIT}; put large payloads into the blob store`,
    { limit: RECORD_LIMIT },
  );
}
