import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeFrozenExperiment } from './frozen-experiment.contract.ts';

describeWithKafka('an experiment that froze, over Kafka', () => {
  describeFrozenExperiment(async () => openTestPlatform((await kafkaForTests()).brokers));
});
