import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeReleasing } from './release-quarantined.contract.ts';

describeWithKafka('over Kafka', () => {
  describeReleasing(async () => openTestPlatform((await kafkaForTests()).brokers));
});
