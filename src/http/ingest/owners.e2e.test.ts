import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestApi } from '../http-testing.ts';
import { describeOwners } from './owners.contract.ts';

describeWithKafka('owners over Kafka', () => {
  describeOwners(async (given) => openTestApi({ ...given, brokers: (await kafkaForTests()).brokers }));
});
