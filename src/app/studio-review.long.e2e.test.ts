import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { reviewFlows } from './studio-review.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the review of the studio',
    reviewFlows(async () => (await kafkaForTests()).brokers),
  );
});
