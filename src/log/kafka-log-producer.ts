import { setTimeout as delay } from 'node:timers/promises';
import { CompressionTypes, type Kafka, type Message, Partitioners, type Producer, type RecordMetadata } from 'kafkajs';
import { retry } from '../runtime/retry.ts';
import type { QueuedRecord } from './append-queue.ts';
import { LogError } from './event-log.ts';
import { isTransient, isUnknownTopic, isUnsent, toLogError } from './kafka-log-errors.ts';
import { RECEIVED_AT } from './kafka-log-slices.ts';

export interface KafkaProducerOptions {
  readonly brokers: readonly string[];
  readonly compression: 'none' | 'gzip';
  /** How long one send is tried, ms. */
  readonly deliveryMs: number;
  /** Whether a send is made again whose answer was lost: it may be in the log. */
  readonly resends: 'lost answers' | 'refused ones';
}

const RETRY_MS = 500; // on top of the client's own retries, which take seconds
const ALL_REPLICAS = -1;
const METADATA_MS = 5_000; // a topic that was just made is not sent to before
const UNSENT_MS = 200;

/**
 * Sends records and tries again until they are durable. Called for one send at a time (the queue sees to it), so a retry cannot
 * overtake a later send. A send whose answer was lost is sent again: records may be doubled, never lost or reordered, and readers
 * recognise an event by its id. With `refused ones` only what a broker certainly did not take is sent again. (kafkajs's idempotent
 * mode is avoided: it can lose its sequence numbers for good, #598, #1005.)
 */
export class KafkaProducer {
  readonly #options: KafkaProducerOptions;
  readonly #producer: Producer;
  #connected: Promise<void> | undefined;
  #hurry = false;

  constructor(kafka: Kafka, options: KafkaProducerOptions) {
    this.#options = options;
    this.#producer = kafka.producer({
      allowAutoTopicCreation: false,
      metadataMaxAge: METADATA_MS,
      idempotent: false,
      ...(options.resends === 'lost answers' ? {} : { retry: { retries: 0 } }),
      createPartitioner: Partitioners.DefaultPartitioner,
    });
  }

  /** Sends records in order; returns the offset of each. @throws LogError when they could not be made durable in time. */
  async send(records: readonly QueuedRecord[]): Promise<readonly number[]> {
    const bases = new Map<string, number>();
    const began = performance.now();
    const missing = () => records.filter((record) => !bases.has(placeOf(record)));
    const sendMissing = async () => {
      // Normally one round. kafkajs forgets a partition whose leader moved, during its retries, to a broker that had answered
      // already, and reports success: whatever it gave no offset for is sent again.
      for (let left = missing(); left.length > 0; left = missing()) {
        const answers = await this.#sendOnce(left);
        for (const { topicName, partition, baseOffset } of answers)
          if (baseOffset !== undefined) bases.set(`${topicName}/${partition}`, Number(baseOffset));
        // It sends nothing to a partition that it has not heard of yet, and says nothing of that either.
        if (answers.length > 0) continue;
        if (this.#hurry || performance.now() - began > this.#options.deliveryMs) throw new LogError('unreachable', unheard(left));
        await delay(UNSENT_MS);
      }
    };
    await retry(sendMissing, {
      pauseMs: RETRY_MS,
      again: ({ error, elapsedMs }) => {
        const mayRepeat =
          this.#options.resends === 'lost answers' ? isTransient(error) && !isUnknownTopic(error) : isUnsent(error);
        if (!mayRepeat || this.#hurry || elapsedMs > this.#options.deliveryMs)
          throw toLogError(error, this.#options.brokers, `appending ${missing().length} records`);
        return true;
      },
    });
    return records.map((record) => {
      const place = placeOf(record);
      const offset = bases.get(place) ?? Number.NaN; // the loop above ends only when every place has its base
      bases.set(place, offset + 1);
      return offset;
    });
  }

  /** Ends retries: whoever closes does not wait minutes for a broker that is gone. */
  hurry(): void {
    this.#hurry = true;
  }

  async close(): Promise<void> {
    if (this.#connected !== undefined) await this.#producer.disconnect();
  }

  async #sendOnce(records: readonly QueuedRecord[]): Promise<RecordMetadata[]> {
    await this.#connect();
    const topics = new Map<string, Message[]>();
    for (const { record, partition, restored } of records) {
      const { topic, value, traceparent } = record;
      const { key } = restored ?? record;
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      const message: Message = { key, value: bytes, partition };
      if (traceparent || restored) message.headers = {};
      if (message.headers && traceparent) message.headers.traceparent = traceparent;
      if (message.headers && restored) message.headers[RECEIVED_AT] = String(restored.receivedAt ?? '');
      const messages = topics.get(topic);
      if (messages === undefined) topics.set(topic, [message]);
      else messages.push(message);
    }
    return this.#producer.sendBatch({
      acks: ALL_REPLICAS,
      compression: this.#options.compression === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.None,
      topicMessages: [...topics].map(([topic, messages]) => ({ topic, messages })),
    });
  }

  /** Connects at the first send: a process that only reads has one idle connection less. */
  async #connect(): Promise<void> {
    this.#connected ??= this.#producer.connect().catch((error: unknown) => {
      this.#connected = undefined;
      throw error;
    });
    await this.#connected;
  }
}

function unheard(records: readonly QueuedRecord[]): string {
  const places = [...new Set(records.map(placeOf))].slice(0, 3).join(', ');
  return `appending ${records.length} records: no broker says that it leads ${places}; look at the topic`;
}

function placeOf({ record, partition }: QueuedRecord): string {
  return `${record.topic}/${partition}`;
}
