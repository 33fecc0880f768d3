import { kafkaForTests } from '../../src/testing/kafka.ts';
import { describeWithKafka } from '../../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { describeHostileInput } from './hostile.contract.ts';

/** What an owner, a project and an epoch decide is decided next to the log: a part of the campaign shows it over Kafka. */
const CASES: Readonly<Record<string, number>> = { principal: 40, projects: 40 };

describeWithKafka('over Kafka', () =>
  describeHostileInput({
    open: async () => openTestPlatform((await kafkaForTests()).brokers),
    casesOf: (target) => CASES[target] ?? 0,
    seed: 8,
    inside: 'left',
  }),
);
