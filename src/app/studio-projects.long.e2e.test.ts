import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { projectFlows } from './studio-projects.contract.ts';

describeWithKafka('on Kafka', () => {
  describeWithBrowser(
    'the studio with a key of one project',
    projectFlows(async () => (await kafkaForTests()).brokers),
  );
});
