import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { operationsFlows } from './studio-operations.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the operations of the studio',
    operationsFlows(async () => (await kafkaForTests()).brokers),
  );
});
