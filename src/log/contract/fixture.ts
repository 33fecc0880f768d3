import { randomUUID } from 'node:crypto';
import type { EventLog, LogRecord } from '../event-log.ts';

/** What an adapter passes to the contract suite: a running server behind `log`, and the ways to disturb it. */
export interface EventLogFixture {
  readonly log: EventLog;
  /** Opens another client of the same server, as another process would. The suite closes it. */
  second(): Promise<EventLog>;
  /** Starts a member of the group in another process, where the suite shows what a process that is stopped loses. */
  elsewhere?(group: string, topic: string): Promise<Elsewhere>;
  /** Makes every running subscription to `topic` meet an error that no retry heals. Resolves to what undoes it. */
  breakFatally(topic: string): Promise<() => Promise<void>>;
  /** Appends so that the server stores the records in this codec; needed when codecs are named to `describeEventLog`. */
  appendWith?(codec: string, records: readonly LogRecord[]): Promise<void>;
  /** Closes `log` and whatever else was opened. */
  cleanup(): Promise<void>;
}

/** A member in another process. It prints each batch and answers *done* for the first when it is asked to, for others at once. */
export interface Elsewhere {
  /** The texts of the records that it was handed. */
  texts(): readonly string[];
  /** Lets it answer for its first batch. */
  answer(): void;
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  close(): Promise<void>;
}

/** Names a topic or group that no other test uses. */
export function fresh(what: string): string {
  return `contract.${what}.${randomUUID().slice(0, 13)}`;
}

/** Makes a fresh topic with that many partitions. */
export async function freshTopic(log: EventLog, partitions = 1): Promise<string> {
  const topic = fresh('topic');
  await log.ensureTopics([topic], partitions);
  return topic;
}

export function record(topic: string, key: string, value: string | Uint8Array = ''): LogRecord {
  return { topic, key, value: typeof value === 'string' ? new TextEncoder().encode(value) : value };
}

/** Numbers records 0, 1, … under the keys in turn; the value says which it is. */
export function numbered(topic: string, count: number, keys: readonly string[] = ['k'], from = 0): LogRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const key = keys[(from + i) % keys.length] ?? 'k';
    return record(topic, key, `${key}#${from + i}`);
  });
}

/** The texts of records numbered from `from` to below `to` under the key k. */
export function numberedTexts(from: number, to: number): string[] {
  return numbered('', to - from, ['k'], from).map(({ value }) => new TextDecoder().decode(value));
}
