import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { pageFlows } from './view.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'a page that opens without a server',
    pageFlows(async () => (await kafkaForTests()).brokers),
  );
});
