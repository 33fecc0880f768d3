import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestApi } from '../http-testing.ts';
import { describeExtremeValues } from './extreme-values.contract.ts';

describeWithKafka('extreme values over Kafka', () => {
  describeExtremeValues(async () => openTestApi({ brokers: (await kafkaForTests()).brokers }));
});
