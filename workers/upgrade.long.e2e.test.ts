import { kafkaForTests } from '../src/testing/kafka.ts';
import { describeWithKafka } from '../src/testing/kafka-describe.ts';
import { describeUpgrade } from './upgrade.contract.ts';

describeWithKafka('over Kafka', () => describeUpgrade(async () => (await kafkaForTests()).brokers));
