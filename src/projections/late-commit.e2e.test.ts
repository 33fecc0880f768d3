import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeLateCommit } from './late-commit.contract.ts';

describeWithKafka('a projector that froze, over Kafka', () => {
  describeLateCommit(async () => openTestPlatform((await kafkaForTests()).brokers));
});
