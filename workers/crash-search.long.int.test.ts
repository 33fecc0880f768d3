import { afterEach, expect, test } from '@jest/globals';
import type { Platform } from '../src/platform/open-platform.ts';
import { collectCrashing, collectUndisturbed, liveAndRebuilt, searchPlan, soundnessOf } from '../src/testing/crashing-run.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { killRunning } from '../src/testing/worker-process.ts';
import { runDigest } from '../src/usecases/datasets/digest-trees.ts';

type Home = Platform & { readonly home: string };

const open: Home[] = [];
afterEach(async () => {
  await killRunning();
  for (const platform of open.splice(0)) await platform.close();
});

async function opened(): Promise<Home> {
  const platform = await openTestPlatform();
  open.push(platform);
  return platform;
}

test('searches killed at seeded points reach the trees, visits and values of undisturbed ones, with each event once', async () => {
  const [seed, plan] = [21, searchPlan];
  const quiet = await opened();
  const expected = await recordOf(quiet, await collectUndisturbed(quiet, seed, plan));
  expect(expected.soundness).toMatchObject({ anomalies: [], quarantined: [], trees: plan.tasks.length });
  expect(expected.soundness.events).toMatchObject({ NodeAdded: expect.any(Number), ValueBackedUp: expect.any(Number) });

  const platform = await opened();
  const { runId, kills } = await collectCrashing(platform, { seed, victims: ['collector'], kills: 3, plan });
  expect(kills.length).toBeGreaterThan(0);
  expect(await recordOf(platform, runId)).toEqual(expected);
  const { live, rebuilt } = await liveAndRebuilt(platform);
  expect(live).toEqual(rebuilt);
});

/** What must be the same of both runs: ids differ between runs, the order of steps in a tree and what they count do not. */
async function recordOf(platform: Home, runId: string) {
  const { db } = platform.database;
  const statistics = await db
    .selectFrom('nodeStatistics')
    .innerJoin('steps', (join) =>
      join.onRef('steps.treeId', '=', 'nodeStatistics.treeId').onRef('steps.stepId', '=', 'nodeStatistics.stepId'),
    )
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['alias', 'depth', 'response', 'observation', 'visits', 'valueSum'])
    .where('runId', '=', runId)
    .orderBy('alias')
    .orderBy('steps.logOffset')
    .execute();
  const soundness = await soundnessOf(platform.database, runId, searchPlan);
  return { digest: await runDigest(platform, runId), statistics, soundness };
}
