import { expect, test } from '@jest/globals';
import { kafkaForTests } from '../../src/testing/kafka.ts';
import { describeWithKafka } from '../../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { runCampaign } from './campaign.ts';
import { checkStage, openStage } from './stage.ts';

describeWithKafka('over Kafka', () => {
  test('a key of one project neither sees nor changes another one', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    try {
      const stage = await openStage(platform);
      const [result] = await runCampaign(stage, { seconds: 10, seed: 8, only: ['projects'] });
      expect(result?.fault).toBeUndefined(); // it names the rule and the case
      expect((await checkStage(platform)).faults).toEqual([]);
      await stage.close();
    } finally {
      await killRunning();
      await platform.close();
    }
  }, 600_000);
});
