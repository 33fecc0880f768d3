import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeOneCollector } from './one-collector.contract.ts';

describeWithKafka('one collector per run over Kafka', () => {
  describeOneCollector(async () => openTestPlatform((await kafkaForTests()).brokers), 'superseded');
});
