import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { hostileFlows } from './studio-hostile.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the studio over a hostile record',
    hostileFlows(async () => (await kafkaForTests()).brokers),
  );
});
