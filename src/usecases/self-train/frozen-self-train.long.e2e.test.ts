import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeFrozenSelfTraining } from './frozen-self-train.contract.ts';

describeWithKafka('a self-training that froze, over Kafka', () => {
  describeFrozenSelfTraining(async () => openTestPlatform((await kafkaForTests()).brokers));
});
