import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeVisionTraining } from './train-vision.contract.ts';

describeWithKafka('with a Kafka broker', () => {
  describeVisionTraining('a vision-language model that is trained over Kafka', async () =>
    openTestPlatform((await kafkaForTests()).brokers),
  );
});
