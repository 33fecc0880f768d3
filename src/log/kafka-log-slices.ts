import type { LogBatch, StoredRecord } from './event-log.ts';

const LOG_APPEND_TIME = 1;
/** The header of a restored record: when the log that it is from took it, ms since 1970; empty where that log did not say so. */
export const RECEIVED_AT = 'espalier-received-at';

/** What kafkajs hands over: a partition's part of one fetch. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly FetchedMessage[];
  /** The offset that was asked for. */
  readonly fetchedOffset: string;
  /** The last offset of the fetch, control records included: they never show among the messages. */
  lastOffset(): string;
}

export interface FetchedMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Ms since 1970. */
  readonly timestamp: string;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  /** Of kafkajs, which its types leave out: type 1 when the broker wrote the timestamp, 0 when the producer did. */
  readonly batchContext?: { readonly timestampType?: number };
}

/**
 * Cuts a fetch into batches of at most `limit` records. Each batch's `next` is where the following one begins; the last one's is
 * behind the whole fetch, so that control records and compacted gaps are passed. The first one's `from` is what was asked for:
 * kafkajs asks from the log's start when the log no longer holds what it wanted.
 */
export function* sliceBatch(batch: FetchedBatch, limit: number): Generator<LogBatch> {
  const { topic, partition, messages } = batch;
  const end = Number(batch.lastOffset()) + 1;
  let from = Number(batch.fetchedOffset);
  for (let at = 0; at < messages.length; at += limit) {
    const following = messages[at + limit];
    const taken = messages.slice(at, at + limit);
    const traceparents = traceparentsOf(taken);
    const next = following === undefined ? end : Number(following.offset);
    const batch = { topic, partition, from, next, records: taken.map(toRecord) };
    yield traceparents.length > 0 ? { ...batch, traceparents } : batch;
    from = next;
  }
}

/** A tombstone (null value) of a foreign producer reads as an empty value. */
function toRecord(message: FetchedMessage): StoredRecord {
  const { offset, key, value } = message;
  return {
    offset: Number(offset),
    receivedAt: receivedAtOf(message),
    key: key === null ? null : key.toString('utf8'),
    value: value ?? new Uint8Array(0),
  };
}

function traceparentsOf(messages: readonly FetchedMessage[]): readonly string[] {
  const found = new Set<string>();
  for (const { headers } of messages) if (headers?.traceparent) found.add(String(headers.traceparent));
  return [...found];
}

function receivedAtOf({ timestamp, headers, batchContext }: FetchedMessage): number | null {
  const restored = headers?.[RECEIVED_AT];
  if (restored !== undefined) return /^\d{1,15}$/.test(String(restored)) ? Number(restored) : null;
  // A time that its producer chose says nothing of when the log took the record.
  return batchContext?.timestampType === LOG_APPEND_TIME ? Number(timestamp) : null;
}
