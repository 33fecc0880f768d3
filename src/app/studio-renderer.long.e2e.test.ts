import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { rendererFlows } from './studio-renderer.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the views of environments in the studio',
    rendererFlows(async () => (await kafkaForTests()).brokers),
  );
});
