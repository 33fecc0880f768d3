import type { Envelope } from '../events/envelope.ts';

/**
 * The log, as the rest of the program sees it: one port, two adapters (Kafka; tables of Postgres). No type of a client library
 * crosses it. The promises, shown by the contract suite against both:
 * - records of one key keep the order in which `append` was called;
 * - `append` resolves only when the records are durable;
 * - a batch is a run of records of one partition in offset order;
 * - a record says when the log took it, by the log's clock;
 * - what a handler has not answered *done* for is delivered again, to this member or to the one that takes over its partition.
 */
export interface LogRecord {
  readonly topic: string;
  /** Chooses the partition; never empty. */
  readonly key: string;
  /** The partition, for a record that belongs in the partition of another one whatever its key; left out, the key chooses. */
  readonly partition?: number;
  readonly value: Uint8Array;
  /** The event that `value` encodes, for a log that seals it; no log stores it. */
  readonly event?: Envelope;
  /**
   * The run whose collector writes the record, and its epoch. A log that lies in the database refuses the record once a later
   * collector took over the run; of other logs the readers drop it (`projections/epochs/`).
   */
  readonly fence?: { readonly runId: string; readonly epoch: number };
  /** The header `traceparent` of the span that appends it, for readers that trace; it is no part of the record. */
  readonly traceparent?: string;
}

/** The most bytes of key and value together; larger payloads belong in the blob store. */
export const RECORD_LIMIT = 2 * 1024 * 1024;

export interface Receipt {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface StoredRecord {
  readonly offset: number;
  /**
   * When the log took it, by the log's clock: ms since 1970. Null for records that a topic of Kafka held while it kept the times of
   * their producers.
   */
  readonly receivedAt: number | null;
  readonly key: string | null;
  readonly value: Uint8Array;
}

export interface LogBatch {
  readonly topic: string;
  readonly partition: number;
  /**
   * The offset this batch was read from: the `next` (or `to`) answered before it. When it is higher than that, the log no longer
   * holds what lies between (retention), which the reader must be able to notice.
   */
  readonly from: number;
  /** The offset after the last record of the fetch, control records included: what *done* may be answered up to. */
  readonly next: number;
  readonly records: readonly StoredRecord[];
  /** The headers `traceparent` that its records were appended with, each once; left out where there are none. */
  readonly traceparents?: readonly string[];
}

/** What a handler answers: everything below `next` is done, or: deliver again from `to`. */
export type BatchAnswer = { readonly kind: 'done'; readonly next: number } | { readonly kind: 'rewind'; readonly to: number };

export interface SubscribeOptions {
  readonly group: string;
  readonly topics: readonly string[];
  /** The group is forgotten when the subscription is closed; for who reads once, under a name of its own. */
  readonly ephemeral?: true;
  /**
   * Called for one batch of a partition at a time; several partitions may be in flight at once. A throw stops the subscription
   * and rejects `finished`.
   */
  readonly handle: (batch: LogBatch, signal: AbortSignal) => Promise<BatchAnswer>;
  /** The most records in one batch. */
  readonly batchLimit?: number;
  /**
   * The handler works off at once what is delivered together: while little is in flight nothing more is fetched, and what comes
   * meanwhile of all partitions is delivered together behind that. Without it a slow handler holds up its own partition alone.
   */
  readonly together?: true;
  /** Batches come with the headers `traceparent` of their appends, where the log keeps them apart; the first reader takes them. */
  readonly traced?: boolean;
  /**
   * Asked each time this member takes a partition: the offset to begin at, for a reader who knows better than the log what the
   * group has done; undefined begins where the group's last answer was recorded. A fetch under way may still bring one batch from
   * there.
   */
  readonly startAt?: (topic: string, partition: number) => Promise<number | undefined>;
  /** Called each time that the log cannot be read for now, with the reason. It is tried again until the subscription is closed. */
  readonly onWaiting?: (reason: string) => void;
}

export interface Subscription {
  /** Resolves after `close`, rejects when the handler threw or the client met a fatal error. */
  readonly finished: Promise<void>;
  /** Stops after the batch in flight; resolves when its answer is recorded. */
  close(): Promise<void>;
}

/** Next offsets: topic → partition → the offset the next record will get (log end) or the next to read (cursor). */
export type Offsets = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** What a partition holds: the records from `first` on, below `next`. Records below `first` are gone. */
export interface Extent {
  readonly first: number;
  readonly next: number;
}

/** Topic → partition → what it holds. */
export type Extents = ReadonlyMap<string, ReadonlyMap<number, Extent>>;

export type PartitionWork<T> = (partitionId: number) => Promise<T>;

export interface EventLog {
  /** Creates the topics that are missing, with `partitions` partitions each. @throws LogError where one is not as configured. */
  ensureTopics(topics: readonly string[], partitions: number): Promise<void>;
  /**
   * Appends records in order. Resolves when durable, with one receipt per record. @throws LogError; RangeError on an empty key or
   * a partition that is not there.
   */
  append(records: readonly LogRecord[]): Promise<readonly Receipt[]>;
  /**
   * Only of a log that is stored in tables of the database: does work that appends records of a key by the SQL function
   * `log_write`, in a transaction of its own; readers are notified after it. @param work gets the id of their partition.
   */
  whilePlaced?<T>(of: Pick<LogRecord, 'topic' | 'key' | 'partition'>, work: PartitionWork<T>): Promise<T>;
  /**
   * Appends records of another log at their offsets and with their times: those of one partition, which must end at `from` and
   * ends at `next` afterwards. Resolves when they are durable. @throws LogError `fatal` where the partition ends elsewhere, or
   * where the log cannot leave offsets empty that the other one left empty.
   */
  restore(batch: LogBatch): Promise<void>;
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Names this log among all logs: offsets of one mean nothing in another. */
  identity(): Promise<string>;
  /** Returns the log end of every partition of the topics. */
  ends(topics: readonly string[]): Promise<Offsets>;
  /** Returns what every partition of the topics holds; topics that do not exist are left out. */
  extents(topics: readonly string[]): Promise<Extents>;
  /**
   * Returns, by topic, the partitions that no living member of a group reads: all of them where it has none. While a group shares
   * its partitions again they count as read by nobody.
   */
  unread(group: string, topics: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>;
  close(): Promise<void>;
}

/** A fault of the log's world. `refused`: by TLS, the login or the rights. `retryable`: the same call may succeed later. */
export class LogError extends Error {
  override readonly name = 'LogError';
  readonly code: 'unreachable' | 'refused' | 'unknown-topic' | 'too-large' | 'closed' | 'fenced' | 'fatal';
  readonly retryable: boolean;
  constructor(code: LogError['code'], message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** A record that the log does not take. `limit`: the most bytes it does, where that is known. */
export class RecordTooLarge extends LogError {
  readonly limit: number | null;
  /** How many records of the append are durable although it was refused: those before this one. */
  readonly appended: number;
  constructor(message: string, options: { limit: number | null; appended?: number; cause?: unknown }) {
    super('too-large', message, { cause: options.cause });
    this.limit = options.limit;
    this.appended = options.appended ?? 0;
  }
}
