import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestApi } from '../http-testing.ts';
import { describeTakenRuns } from './taken-run.contract.ts';

describeWithKafka('producers over HTTP that take a run, over Kafka', () => {
  describeTakenRuns(
    async () => openTestApi({ brokers: (await kafkaForTests()).brokers, api: { catchUpMs: 60_000 } }),
    'superseded',
  );
});
