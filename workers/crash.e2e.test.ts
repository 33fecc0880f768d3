import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Platform } from '../src/platform/open-platform.ts';
import { collectCrashing, collectUndisturbed, liveAndRebuilt, plan, soundnessOf } from '../src/testing/crashing-run.ts';
import { kafkaForTests } from '../src/testing/kafka.ts';
import { describeWithKafka } from '../src/testing/kafka-describe.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { killRunning } from '../src/testing/worker-process.ts';
import { runDigest } from '../src/usecases/datasets/digest-trees.ts';

type Home = Platform & { readonly home: string };

describeWithKafka('a run that processes collect over Kafka', () => {
  let platform: Home;
  let embedded: Home;
  beforeEach(async () => {
    platform = await openTestPlatform((await kafkaForTests()).brokers);
    embedded = await openTestPlatform();
  });
  afterEach(async () => {
    await killRunning();
    await platform.close();
    await embedded.close();
  });

  test.each([
    { seed: 21, victims: ['collector'], kills: 3 },
    { seed: 22, victims: ['projector', 'collector'], kills: 3 },
  ] as const)(
    'a run with $kills kills of $victims (seed $seed) ends in the trees of the same run over the embedded log',
    async (disturbance) => {
      const { runId, kills } = await collectCrashing(platform, disturbance);
      expect(kills.length).toBeGreaterThan(0);

      const other = await collectUndisturbed(embedded, disturbance.seed);
      const { digest } = await runDigest(embedded, other);
      expect(await runDigest(platform, runId)).toEqual({ digest, trees: plan.tasks.length });
      const { anomalies, ...record } = await soundnessOf(platform.database, runId);
      // The client may send a request again whose answer was lost: the journal keeps the first and notes the second.
      expect(anomalies.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
      expect({ anomalies: [], ...record }).toEqual(await soundnessOf(embedded.database, other));
      const { live, rebuilt } = await liveAndRebuilt(platform);
      expect(live).toEqual(rebuilt);
    },
  );
});
