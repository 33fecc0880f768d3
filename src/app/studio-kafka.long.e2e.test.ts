import { describeWithBrowser } from '../testing/browser-describe.ts';
import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { studioFlows } from './studio.contract.ts';
import { hostileFlows } from './studio-hostile.contract.ts';
import { projectFlows } from './studio-projects.contract.ts';
import { reviewFlows } from './studio-review.contract.ts';

const brokers = async () => (await kafkaForTests()).brokers;

describeWithKafka('on Kafka', () => {
  describeWithBrowser('the studio', studioFlows(brokers));
  describeWithBrowser('the studio over a hostile record', hostileFlows(brokers));
  describeWithBrowser('the studio with a key of one project', projectFlows(brokers));
  describeWithBrowser('the review of the studio', reviewFlows(brokers));
});
