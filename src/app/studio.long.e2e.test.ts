import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { studioFlows } from './studio.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the studio',
    studioFlows(async () => (await kafkaForTests()).brokers),
  );
});
