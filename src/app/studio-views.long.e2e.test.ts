import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { viewFlows } from './studio-views.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'views of environments next to each other',
    viewFlows(async () => (await kafkaForTests()).brokers),
  );
});
