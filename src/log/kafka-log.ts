import { type Admin, Kafka, logLevel } from 'kafkajs';
import { CloseStalled, type ClosingPart, closeWithin } from '../runtime/close-in-turn.ts';
import type { KafkaSecurity } from '../runtime/kafka-security.ts';
import { limitOf } from '../runtime/limit.ts';
import { doubling, retry } from '../runtime/retry.ts';
import { AppendQueue, PARTITION_BYTES, type QueuedRecord, RECORD_OVERHEAD } from './append-queue.ts';
import type { SubscribeOptions } from './event-log.ts';
import {
  type EventLog,
  type Extents,
  type LogBatch,
  LogError,
  type LogRecord,
  type Offsets,
  type Receipt,
  type Subscription,
} from './event-log.ts';
import { installCodecs } from './kafka-log-codecs.ts';
import {
  isForbidden,
  isLeaderless,
  isLostAnswer,
  isTransient,
  isUnknownTopic,
  isWithoutCoordinator,
  toLogError,
} from './kafka-log-errors.ts';
import { KafkaProducer, type KafkaProducerOptions } from './kafka-log-producer.ts';
import { clientSecurity } from './kafka-log-security.ts';
import { subscribeKafka } from './kafka-log-subscription.ts';
import { checkTopics, readAssignments, type TopicOptions, topicConfiguration } from './kafka-log-topics.ts';
import { partitionOf } from './partition-for-key.ts';

export interface KafkaLogOptions extends TopicOptions {
  /** Some brokers of the cluster, as host:port. */
  readonly brokers: readonly string[];
  /** Names this process in the brokers' logs and quotas. */
  readonly clientId: string;
  /** In the clear and without a login where it is left out. */
  readonly security?: KafkaSecurity | undefined;
  /** How records travel and are kept. Reading takes every codec of Kafka. */
  readonly compression?: 'none' | 'gzip';
  /** How long an append is tried while brokers are away, ms; then it is refused as `unreachable`. */
  readonly deliveryMs?: number;
  readonly sessionMs?: number;
  readonly silenceMs?: number;
  /** Hears what the client warns of. It retries by itself: this is for a log file, not for decisions. */
  readonly warn?: (message: string, detail: object) => void;
}

const OPEN_MS = 10_000;
const DESCRIBE_WAIT_MS = 200;
const LEADER_WAIT_MS = 200;
const UNKNOWN_TOPIC_TRIES = 4; // a broker learns of a new topic a moment after the controller made it
const NEW_TOPIC_TRIES = 60; // one that we made comes for certain; on a busy machine that took over a second
const UNKNOWN_TOPIC_WAIT_MS = 250;

// Up to about 5 s of retries inside the client; what must last longer (an append) tries again around it.
const RETRIES = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 8 };

/** Opens the log of a Kafka cluster. @throws LogError `unreachable` within about 10 s when no broker answers. */
export async function openKafkaLog(options: KafkaLogOptions): Promise<EventLog> {
  installCodecs();
  await probe(options);
  const kafka = connectTo(options, {
    connectionTimeout: 3_000,
    retry: RETRIES,
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
  } catch (error) {
    throw toLogError(error, options.brokers, 'opening the log');
  }
  return new KafkaLog(kafka, admin, options);
}

class KafkaLog implements EventLog {
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #options: KafkaLogOptions;
  readonly #producer: KafkaProducer;
  /** Offsets are given to what is restored: no record may be doubled. */
  readonly #restorer: KafkaProducer;
  readonly #queue: AppendQueue;
  readonly #subscriptions = new Set<Promise<Subscription>>();
  readonly #partitions = new Map<string, number>();
  readonly #inTurn = limitOf(1);
  readonly #restoring = limitOf(1); // the producer takes one send at a time
  #closing: Promise<void> | undefined;

  constructor(kafka: Kafka, admin: Admin, options: KafkaLogOptions) {
    this.#kafka = kafka;
    this.#admin = admin;
    this.#options = options;
    const sending: Omit<KafkaProducerOptions, 'resends'> = {
      brokers: options.brokers,
      compression: options.compression ?? 'none',
      deliveryMs: options.deliveryMs ?? 120_000,
    };
    this.#producer = new KafkaProducer(kafka, { ...sending, resends: 'lost answers' });
    this.#restorer = new KafkaProducer(kafka, { ...sending, resends: 'refused ones' });
    this.#queue = new AppendQueue({ place: (records) => this.#place(records), send: (records) => this.#producer.send(records) });
  }

  async ensureTopics(topics: readonly string[], partitions: number): Promise<void> {
    this.#refuseWhenClosed();
    await this.#ask('creating topics', async () => {
      const existing = new Set(await this.#admin.listTopics());
      await checkTopics(
        this.#admin,
        topics.filter((topic) => existing.has(topic)),
        this.#options,
      );
      const missing = topics.filter((topic) => !existing.has(topic));
      if (missing.length === 0) return;
      const { brokers } = await this.#admin.describeCluster();
      // One by one: a topic that another client made in the meantime must not fail the others.
      for (const topic of missing) {
        const make = () =>
          this.#admin.createTopics({ topics: [topicConfiguration(topic, partitions, brokers.length, this.#options)] });
        // kafkajs retries most requests, but not this one when its connection breaks
        await retry(make, {
          again: ({ error, tries }) => tries <= RETRIES.retries && isTransient(error),
          pauseMs: doubling(RETRIES.initialRetryTime, RETRIES.maxRetryTime),
        }).catch((error: unknown) => {
          // It was made; the broker that was asked for its leaders has not heard of it yet. We wait for that below.
          if (!isUnknownTopic(error)) throw error;
        });
      }
    }).catch((fault: unknown) => {
      throw fault instanceof LogError ? finalWhenRefused(fault) : fault;
    });
    await this.#partitionsOf(topics, NEW_TOPIC_TRIES);
  }

  append(records: readonly LogRecord[]): Promise<readonly Receipt[]> {
    return this.#queue.append(records);
  }

  async restore(batch: LogBatch): Promise<void> {
    this.#refuseWhenClosed();
    const { topic, partition, from, next, records } = batch;
    const gap = [...records.map(({ offset }) => offset), next].findIndex((offset, i) => offset !== from + i);
    if (gap !== -1)
      throw new LogError('fatal', `${topic}.${partition} has no record at offset ${from + gap}, which Kafka cannot leave empty`);
    await this.#partitionsOf([topic]);
    await this.#restoring(async () => {
      for (const sent of sendsOf(batch)) {
        const offsets = await this.#restorer.send(sent);
        const at = offsets.findIndex((offset, i) => offset !== sent[i]?.offset);
        if (at === -1) continue;
        const place = `${topic}.${partition}`;
        throw new LogError(
          'fatal',
          `${place} took the record of offset ${sent[at]?.offset} at ${offsets[at]}: it holds other records`,
        );
      }
    });
  }

  async subscribe(options: SubscribeOptions): Promise<Subscription> {
    this.#refuseWhenClosed();
    const subscribing = this.#subscribe(options);
    this.#subscriptions.add(subscribing);
    const forget = () => this.#subscriptions.delete(subscribing);
    subscribing.then((subscription) => subscription.finished).then(forget, forget);
    return subscribing;
  }

  async identity(): Promise<string> {
    this.#refuseWhenClosed();
    const { clusterId } = await this.#ask('asking for the id of the cluster', () => this.#admin.describeCluster());
    return `kafka:${clusterId}`;
  }

  async ends(topics: readonly string[]): Promise<Offsets> {
    this.#refuseWhenClosed();
    await this.#partitionsOf(topics);
    const offsets = await this.#ask('reading the ends of topics', () => this.#offsetsByLeaders(topics));
    return new Map(offsets.map(([topic, partitions]) => [topic, byPartition(partitions, ({ high }) => Number(high))]));
  }

  async extents(topics: readonly string[]): Promise<Extents> {
    this.#refuseWhenClosed();
    const existing = new Set(await this.#ask('reading topics', () => this.#admin.listTopics()));
    const found = topics.filter((topic) => existing.has(topic));
    const offsets = await this.#ask('reading what topics hold', () => this.#offsetsByLeaders(found));
    const extentOf = ({ low, high }: PartitionOffsets) => ({ first: Number(low), next: Number(high) });
    return new Map(offsets.map(([topic, partitions]) => [topic, byPartition(partitions, extentOf)]));
  }

  async unread(group: string, topics: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    this.#refuseWhenClosed();
    const partitions = await this.#partitionsOf(topics);
    const read = await this.#ask(`asking who reads as group ${group}`, () =>
      readAssignments(this.#admin, group).catch(async (error: unknown) => {
        throw await this.#whyWithoutCoordinator(group, error);
      }),
    );
    const unread = topics.map((topic) => {
      const all = Array.from({ length: partitions.get(topic) ?? 0 }, (_, partition) => partition);
      return [topic, all.filter((partition) => !read.get(topic)?.has(partition))] as const;
    });
    return new Map(unread.filter(([, found]) => found.length > 0));
  }

  /**
   * kafkajs asks the last known leaders, once. A broker that only just came back is none yet, and one that lost the part is
   * none any more: a client that knows nothing asks again. One topic after the other: a client that knows nothing yet confuses
   * the answers of several.
   */
  async #offsetsByLeaders(topics: readonly string[]) {
    const ask = async (tries: number) => {
      const admin = tries === 1 ? this.#admin : this.#kafka.admin();
      try {
        if (admin !== this.#admin) await admin.connect();
        const offsets: (readonly [string, readonly PartitionOffsets[]])[] = [];
        for (const topic of topics) offsets.push([topic, await admin.fetchTopicOffsets(topic)]);
        return offsets;
      } finally {
        if (admin !== this.#admin) await admin.disconnect().catch(() => undefined);
      }
    };
    return retry(ask, {
      pauseMs: LEADER_WAIT_MS,
      again: ({ error, elapsedMs }) => isLeaderless(error) && elapsedMs <= OPEN_MS,
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#producer.hurry();
    this.#restorer.hurry();
    const subscriptions = await Promise.allSettled(this.#subscriptions);
    const parts: ClosingPart[] = subscriptions.map((result) => ({
      what: 'a subscription',
      close: async () => (result.status === 'fulfilled' ? result.value.close() : undefined),
    }));
    try {
      await Promise.all(
        [{ what: 'the appends of the log', close: () => this.#queue.close() }, ...parts].map((part) => closeWithin(part)),
      );
    } finally {
      // Everything is answered. kafkajs waits for its open requests, and for ever where a connection breaks meanwhile: it drops
      // them then without a word to who waits.
      await Promise.all([
        closeOrLeave({ what: 'the producer', close: () => this.#producer.close() }, this.#options),
        closeOrLeave({ what: 'the producer of restores', close: () => this.#restorer.close() }, this.#options),
        closeOrLeave({ what: 'the administrator', close: () => this.#admin.disconnect() }, this.#options),
      ]);
    }
  }

  async #subscribe(options: SubscribeOptions): Promise<Subscription> {
    await this.#partitionsOf(options.topics);
    const { sessionMs = 30_000, silenceMs = 180_000 } = this.#options;
    const whyCrashed = (error: unknown) => this.#whyWithoutCoordinator(options.group, error);
    return this.#ask(`subscribing to ${options.topics.join(', ')}`, () =>
      subscribeKafka(this.#kafka, { ...options, brokers: this.#options.brokers, sessionMs, silenceMs, whyCrashed }),
    );
  }

  /** Returns that the brokers do not let this client use a group, where its coordinator was not found for that; else the error. */
  async #whyWithoutCoordinator(group: string, error: unknown): Promise<unknown> {
    if (!isWithoutCoordinator(error)) return error;
    let refusal: unknown;
    const admin = connectTo(this.#options, {
      ...PROBE,
      retry: { retries: 1 },
      logLevel: logLevel.DEBUG,
      logCreator:
        () =>
        ({ log: { error: said } }) => {
          if (isForbidden(said)) refusal ??= said;
        },
    }).admin();
    try {
      await admin.connect();
      await admin.describeGroups([group]);
    } catch {
      // it says no more than before: what was logged does
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
    return refusal ?? error;
  }

  async #place(records: readonly LogRecord[]): Promise<QueuedRecord[]> {
    const topics = new Set(records.map(({ topic }) => topic));
    const partitions = await this.#partitionsOf(topics);
    return records.map((record) => ({ record, partition: partitionOf(record, partitions.get(record.topic) ?? 1) }));
  }

  /** Returns the number of partitions of each topic, from memory where it can. @throws LogError `unknown-topic`. */
  async #partitionsOf(topics: Iterable<string>, tries = UNKNOWN_TOPIC_TRIES): Promise<ReadonlyMap<string, number>> {
    const unknown = () => [...topics].filter((topic) => !this.#partitions.has(topic));
    const learn = async () => {
      // All topics at once: asking for one that does not exist would be an error without its name.
      const { topics: all } = await this.#ask('reading topics', () => this.#admin.fetchTopicMetadata());
      // What is known stays: partitions that an administrator adds while processes run move no stream.
      for (const { name, partitions } of all) if (!this.#partitions.has(name)) this.#partitions.set(name, partitions.length);
      if (unknown().length === 0) return;
      throw new LogError('unknown-topic', `Kafka at ${this.#options.brokers.join(', ')} has no topic ${unknown().join(', ')}`);
    };
    if (unknown().length > 0)
      await retry(learn, {
        pauseMs: UNKNOWN_TOPIC_WAIT_MS,
        again: ({ error, tries: done }) => done < tries && error instanceof LogError && error.code === 'unknown-topic',
      });
    return this.#partitions;
  }

  /** Asks one question at a time: kafkajs confuses the answers of several, those of brokers that it does not know yet (#461). */
  async #ask<T>(doing: string, question: () => Promise<T>): Promise<T> {
    const ask = () =>
      retry(question, {
        pauseMs: LEADER_WAIT_MS,
        again: ({ error, elapsedMs }) => isLostAnswer(error) && elapsedMs <= OPEN_MS,
      });
    try {
      return await this.#inTurn(ask);
    } catch (error) {
      throw toLogError(error, this.#options.brokers, doing);
    }
  }

  #refuseWhenClosed(): void {
    if (this.#closing !== undefined) throw new LogError('closed', 'the log is closed');
  }
}

/** Divides records of a partition into sends that a topic takes. */
function sendsOf({ topic, partition, records }: LogBatch): readonly (readonly (QueuedRecord & { readonly offset: number })[])[] {
  const sends: (QueuedRecord & { readonly offset: number })[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const { offset, key, value, receivedAt } of records) {
    const size = value.byteLength + Buffer.byteLength(key ?? '') + RECORD_OVERHEAD;
    if (bytes + size > PARTITION_BYTES) {
      sends.push([]);
      bytes = 0;
    }
    bytes += size;
    sends.at(-1)?.push({ offset, partition, record: { topic, key: key ?? '', value }, restored: { key, receivedAt } });
  }
  return sends;
}

const DISCONNECT_MS = 10_000;

/** Closes a client of kafkajs, which nobody needs any more; one that does not end is left to the end of the process. */
async function closeOrLeave(part: ClosingPart, { brokers, warn }: KafkaLogOptions): Promise<void> {
  await closeWithin(part, DISCONNECT_MS).catch((error: unknown) => {
    if (error instanceof CloseStalled) warn?.(error.message, { brokers });
  });
}

function connectTo(
  { brokers, clientId, warn, security }: KafkaLogOptions,
  settings: Partial<ConstructorParameters<typeof Kafka>[0]>,
): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    logLevel: warn === undefined ? logLevel.NOTHING : logLevel.WARN,
    logCreator:
      () =>
      ({ namespace, log: { message, timestamp: _, ...detail } }) =>
        warn?.(`kafkajs ${namespace}: ${message}`, detail),
    ...clientSecurity(security),
    ...settings,
  });
}

const PROBE = { connectionTimeout: 2_000, requestTimeout: 4_000 };

/**
 * Asks the cluster for its brokers, with little patience: a wrong address must be seen at start, not in a worker an hour later.
 */
async function probe(options: KafkaLogOptions): Promise<void> {
  const tries = { initialRetryTime: 100, retries: Math.max(2, options.brokers.length) };
  const admin = connectTo(options, { ...PROBE, retry: tries }).admin();
  const late = new LogError(
    'unreachable',
    `opening the log: Kafka at ${options.brokers.join(', ')} did not answer within ${OPEN_MS} ms`,
    {
      retryable: true,
    },
  );
  let timer: NodeJS.Timeout | undefined;
  let decided = false;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), OPEN_MS);
  });
  // A broker that has only just started takes connections before it can say who is in the cluster, and kafkajs then fails on an
  // empty answer of its own: somebody listens there, so it is asked again until the limit.
  const describe = () => retry(() => admin.describeCluster(), { again: () => !decided, pauseMs: DESCRIBE_WAIT_MS });
  const asking = admin.connect().then(describe);
  try {
    await Promise.race([asking, limit]);
  } catch (error) {
    if (error === late) throw late;
    // Whatever went wrong, including an answer that no broker sends: this is not the address of a Kafka cluster that serves us.
    const fault = toLogError(error, options.brokers, 'opening the log');
    if (fault.code === 'refused') throw finalWhenRefused(fault);
    throw new LogError('unreachable', fault.message, { retryable: true, cause: fault.cause });
  } finally {
    decided = true;
    clearTimeout(timer);
    asking.catch(() => undefined).finally(() => admin.disconnect().catch(() => undefined));
  }
}

/** Makes a refusal final: at the start somebody is there to correct it. */
function finalWhenRefused(fault: LogError): LogError {
  return fault.code === 'refused' ? new LogError('refused', fault.message, { cause: fault.cause }) : fault;
}

type PartitionOffsets = Awaited<ReturnType<Admin['fetchTopicOffsets']>>[number];

function byPartition<T>(all: readonly PartitionOffsets[], pick: (one: PartitionOffsets) => T): ReadonlyMap<number, T> {
  return new Map(all.map((one) => [one.partition, pick(one)] as const).sort(([a], [b]) => a - b));
}
