import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestApi } from '../http-testing.ts';
import { describeSecondFacts } from './second-facts.contract.ts';

describeWithKafka('second facts over Kafka', () => {
  describeSecondFacts(async () => openTestApi({ brokers: (await kafkaForTests()).brokers }));
});
