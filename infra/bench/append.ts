import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { TOPICS } from '../../src/events/catalogue.ts';
import type { EventLog, LogRecord } from '../../src/log/event-log.ts';
import { type BenchResult, median, timed } from './bench-result.ts';
import type { Size, Stage } from './stage.ts';
import { GROUP, meanStepBytes, recordsOf, recordTrajectories } from './trajectories.ts';

const TREES: Record<Size, number> = { full: 200, quick: 4 };
const ROUNDS: Record<Size, number> = { full: 7, quick: 1 };
const BATCH = 500;
const PARTITIONS = 8;
const ALL_REPLICAS = -1;

/**
 * Measures appending through the log against kafkajs alone: the same records in the same batches, one send in flight,
 * acknowledged by all replicas, not compressed. Rounds alternate, so that whatever else the machine does meets both; the median
 * round counts.
 */
export async function benchAppend(stage: Stage): Promise<BenchResult> {
  const events = recordTrajectories({ ...GROUP, trees: TREES[stage.size], name: 'append' });
  const records = recordsOf(events).filter(({ topic }) => topic === 'trees');
  const log = await stage.kafkaLog();
  const embedded = await stage.embeddedLog();
  await log.ensureTopics(TOPICS, PARTITIONS);
  await embedded.ensureTopics(TOPICS, PARTITIONS);
  const topic = await stage.rawTopic(PARTITIONS);
  const producer = await openRawProducer(stage);

  const seconds = { log: [] as number[], raw: [] as number[], embedded: [] as number[] };
  for (let round = -1; round < ROUNDS[stage.size]; round++) {
    const took = {
      log: await timed(() => appendAll(log, records)),
      raw: await timed(() => sendAll(producer, topic, records)),
      embedded: await timed(() => appendAll(embedded, records)),
    };
    if (round < 0) continue; // the first round warms up
    for (const way of ['log', 'raw', 'embedded'] as const) seconds[way].push(took[way]);
  }
  const rate = (rounds: readonly number[]): number => records.length / median(rounds);
  return {
    bench: 'append',
    figures: [
      {
        name: 'append to Kafka through the log',
        value: rate(seconds.log),
        unit: 'events/s',
        baseline: { name: 'kafkajs sendBatch', value: rate(seconds.raw), unit: 'events/s' },
        floor: { kind: 'ratio-at-least', limit: 0.95 },
      },
      { name: 'append to the embedded log', value: rate(seconds.embedded), unit: 'events/s', baseline: null, floor: null },
    ],
    conditions: {
      events: records.length,
      'bytes per StepTaken': meanStepBytes(events),
      batch: BATCH,
      partitions: PARTITIONS,
      compression: 'none',
      rounds: `${ROUNDS[stage.size]}, the median`,
      ...stage.conditions(),
    },
  };
}

async function openRawProducer(stage: Stage): Promise<Producer> {
  const kafka = new Kafka({ brokers: [...(await stage.brokers())], clientId: 'bench-raw', logLevel: logLevel.NOTHING });
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  stage.closing(() => producer.disconnect());
  return producer;
}

async function appendAll(log: EventLog, records: readonly LogRecord[]): Promise<void> {
  for (let from = 0; from < records.length; from += BATCH) await log.append(records.slice(from, from + BATCH));
}

async function sendAll(producer: Producer, topic: string, records: readonly LogRecord[]): Promise<void> {
  for (let from = 0; from < records.length; from += BATCH) {
    const messages = records.slice(from, from + BATCH).map(({ key, value }) => ({ key, value: asBuffer(value) }));
    await producer.sendBatch({ acks: ALL_REPLICAS, topicMessages: [{ topic, messages }] });
  }
}

function asBuffer(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength); // the same bytes, not copied
}
