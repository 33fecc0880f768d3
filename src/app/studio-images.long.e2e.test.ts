import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { imageFlows } from './studio-images.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the images of the studio',
    imageFlows(async () => (await kafkaForTests()).brokers),
  );
});
