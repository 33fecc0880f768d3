import { kafkaForTests } from '../testing/kafka.ts';
import { describeWithKafka } from '../testing/kafka-describe.ts';
import { describeDrill } from './backup-drill.contract.ts';

describeWithKafka('on Kafka', () => {
  describeDrill('with the log in Kafka', async () => (await kafkaForTests()).brokers);
});
