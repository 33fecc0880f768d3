import { expect, test } from '@jest/globals';
import kafkajs, { type Kafka, type RecordMetadata } from 'kafkajs';
import { KafkaProducer, type KafkaProducerOptions } from './kafka-log-producer.ts';

const { KafkaJSConnectionError, KafkaJSProtocolError } = kafkajs;

/** A client whose sends fail in turn with these errors, and then are taken at offset 0. */
function clientFailing(...errors: readonly Error[]) {
  const left = [...errors];
  let sends = 0;
  const producer = {
    connect: async () => undefined,
    async sendBatch(): Promise<RecordMetadata[]> {
      sends++;
      const error = left.shift();
      if (error) throw error;
      return [{ topicName: 'trees', partition: 0, errorCode: 0, baseOffset: '0' }];
    },
  };
  return { kafka: { producer: () => producer } as unknown as Kafka, sends: () => sends }; // what the producer uses of it
}

const lostAnswer = () => new KafkaJSConnectionError('Connection lost');
/** The published types forget what the constructor takes. */
const notLeader = (): Error =>
  Reflect.construct(KafkaJSProtocolError, [{ type: 'NOT_LEADER_FOR_PARTITION', message: '', retriable: true }]);

const send = (kafka: Kafka, resends: KafkaProducerOptions['resends']) =>
  new KafkaProducer(kafka, { brokers: ['b:9092'], compression: 'none', deliveryMs: 5_000, resends }).send([
    { record: { topic: 'trees', key: 'k', value: Buffer.from('v') }, partition: 0 },
  ]);

test('what is appended is sent again after an answer was lost', async () => {
  const { kafka, sends } = clientFailing(lostAnswer());
  expect([await send(kafka, 'lost answers'), sends()]).toEqual([[0], 2]);
});

test('what is restored is not, since it may be in the log, and the error is retryable', async () => {
  const { kafka, sends } = clientFailing(lostAnswer());
  await expect(send(kafka, 'refused ones')).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  expect(sends()).toBe(1);
});

test('what a broker refused, since it does not lead the partition, is sent again in both cases', async () => {
  const { kafka, sends } = clientFailing(notLeader());
  expect([await send(kafka, 'refused ones'), sends()]).toEqual([[0], 2]);
});
