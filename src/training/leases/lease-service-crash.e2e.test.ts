import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { leaseServiceCrashContract } from './lease-service-crash.contract.ts';

describeWithKafka('the lease service over Kafka', () => {
  leaseServiceCrashContract(async () => openTestPlatform((await kafkaForTests()).brokers), {
    seed: 6,
    kills: 12,
    leastPoints: 40,
  });
});
