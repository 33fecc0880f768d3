import type { BatchAnswer, EventLog, LogBatch, StoredRecord, SubscribeOptions, Subscription } from '../event-log.ts';
import { fresh } from './fixture.ts';

const POLL_MS = 5;
const LIMIT_MS = 60_000; // a Kafka group needs up to one heartbeat (1 s) to notice a new member; the rest is a slow machine

/** Waits until the condition holds. @throws Error that says what was waited for, after 60 s. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited ${LIMIT_MS} ms without success until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

export type SeenRecord = StoredRecord & { readonly topic: string; readonly partition: number; readonly text: string };

/** A subscription that remembers what it was handed. */
export interface Watch {
  readonly group: string;
  readonly batches: readonly LogBatch[];
  readonly subscription: Subscription;
  /** Holds the error that ended the subscription, once there is one. */
  readonly failure: { error?: unknown };
  records(): SeenRecord[];
  texts(): string[];
  close(): Promise<void>;
}

export type WatchOptions = Partial<Omit<SubscribeOptions, 'topics'>>;

/** Subscribes and remembers each batch before the handler sees it; the handler answers *done* unless another is given. */
export async function watch(log: EventLog, topics: readonly string[], options: WatchOptions = {}): Promise<Watch> {
  const { group = fresh('group'), handle = done, ...rest } = options;
  const batches: LogBatch[] = [];
  const subscription = await log.subscribe({
    group,
    topics,
    ...rest,
    handle(batch, signal) {
      batches.push(batch);
      return handle(batch, signal);
    },
  });
  const failure: { error?: unknown } = {};
  subscription.finished.catch((error: unknown) => {
    failure.error = error;
  });
  return {
    group,
    batches,
    subscription,
    failure,
    records: () => batches.flatMap(seen),
    texts: () => batches.flatMap(seen).map(({ text }) => text),
    close: () => subscription.close(),
  };
}

export async function done(batch: LogBatch): Promise<BatchAnswer> {
  return { kind: 'done', next: batch.next };
}

/** Reads a topic from its start with a group of its own until that many records came, and closes. */
export async function readAll(log: EventLog, topic: string, count: number): Promise<SeenRecord[]> {
  const reader = await watch(log, [topic]);
  try {
    await until(`${count} records of ${topic} were read`, () => reader.records().length >= count);
  } finally {
    await reader.close();
  }
  return reader.records();
}

/** Takes the records of one key, in the order they were seen. */
export function ofKey(records: readonly SeenRecord[], key: string): string[] {
  return records.filter((record) => record.key === key).map(({ text }) => text);
}

/** A promise and the hand that settles it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function seen({ topic, partition, records }: LogBatch): SeenRecord[] {
  return records.map((record) => ({ ...record, topic, partition, text: new TextDecoder().decode(record.value) }));
}
