import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeFrozenCollector } from './frozen-collector.contract.ts';

describeWithKafka('a collector over Kafka that is stopped by SIGSTOP', () => {
  describeFrozenCollector(async () => openTestPlatform((await kafkaForTests()).brokers));
});
