import { expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { runProjections } from '../../projections/runner.ts';
import { SILENT } from '../../runtime/logger.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { settle } from '../../testing/crashing-run.ts';
import { kafkaForTests } from '../../testing/kafka.ts';
import { describeWithKafka } from '../../testing/kafka-describe.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { fork, planFork } from '../fork/fork.ts';
import { train } from '../train/train.ts';
import { replayTraining } from './replay-training.ts';

describeWithKafka('over Kafka', () => {
  test('a training with revised rewards is replayed as equal, and a fork continues from one of its steps', async () => {
    const platform = await openTestPlatform((await kafkaForTests()).brokers);
    const projector = await runProjections({ log: platform.log, database: platform.database });
    const { signal } = new AbortController();
    const { db } = platform.database;
    try {
      await train(platform, { plan: aTrainPlan({ updates: 2 }), concurrency: 3, signal, logger: SILENT });
      await settle(platform);
      const rewards = await db.selectFrom('rewards').select(['rewardId', 'treeId']).execute();
      await appenderAs('reviser', platform).append(
        rewards.map(({ rewardId, treeId }, i) => ({
          type: 'RewardRevised',
          correlationId: treeId,
          data: { treeId, rewardId, value: i % 3, scorer: { name: 'other', revision: '2' }, reason: 'judged again' },
        })),
      );
      await settle(platform);
      const { report } = await replayTraining(platform, { policyId: 'searcher', from: 0, to: null, signal });
      expect(report).toMatchObject({ outcome: 'equal', compared: 3, notes: [] });

      const { stepId: from } = await db
        .selectFrom('steps')
        .select('stepId')
        .where('depth', '=', 1)
        .where('termination', '=', 'none')
        .executeTakeFirstOrThrow();
      const plan = await planFork(platform, from, { policy: 'random', rollouts: 2 });
      const forked = await fork(platform, { runId: newId(), name: 'fork', seed: 1, plan, concurrency: 1, signal });
      expect(forked).toMatchObject({ report: { outcome: 'equal', compared: 2 }, progress: { rollouts: 2 } });
    } finally {
      await projector.close();
      await platform.close();
    }
  });
});
