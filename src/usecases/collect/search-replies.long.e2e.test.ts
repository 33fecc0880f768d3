import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeSearchReplies } from './search-replies.contract.ts';

describeWithKafka('a search over Kafka with a model that does not repeat itself', () => {
  describeSearchReplies(async () => openTestPlatform((await kafkaForTests()).brokers));
});
