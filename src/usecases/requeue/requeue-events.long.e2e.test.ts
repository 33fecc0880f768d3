import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeRequeuing } from './requeue-events.contract.ts';

describeWithKafka('over Kafka', () => {
  describeRequeuing(async () => openTestPlatform((await kafkaForTests()).brokers));
});
