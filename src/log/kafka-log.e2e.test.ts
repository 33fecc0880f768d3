import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import type { EventLogFixture } from './contract/fixture.ts';
import { describeEventLog } from './event-log.contract.ts';
import { openKafkaLog } from './kafka-log.ts';
import { compressTopic, forgetCodec } from './kafka-log-testing.ts';

describeWithKafka('on Kafka', () => {
  describeEventLog('Kafka', open, { codecs: ['uncompressed', 'gzip', 'snappy', 'lz4', 'zstd'], gaps: 'refused' });
});

async function open(): Promise<EventLogFixture> {
  const { brokers } = await kafkaForTests();
  const log = await openKafkaLog({ brokers, clientId: 'contract' });
  let clients = 0;
  return {
    log,
    second: () => openKafkaLog({ brokers, clientId: `contract-${++clients}` }),
    // The broker compresses what arrives in another codec than the topic's: with the very libraries of Java producers.
    async appendWith(codec, records) {
      await compressTopic(brokers, records[0]?.topic ?? '', codec);
      await log.append(records);
    },
    // A record in a codec that the client cannot read: kafkajs counts it among the errors that no retry heals.
    async breakFatally(topic) {
      const remember = forgetCodec('zstd');
      await compressTopic(brokers, topic, 'zstd');
      // The broker answers before its log takes over the setting: a record that comes too early is stored as others are.
      const append = () => log.append([{ topic, key: 'k', value: new TextEncoder().encode('unreadable') }]);
      const appending = setInterval(() => void append().catch(() => undefined), 200);
      return async () => {
        clearInterval(appending);
        remember();
      };
    },
    cleanup: () => log.close(),
  };
}
