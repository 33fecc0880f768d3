import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Platform } from '../src/platform/open-platform.ts';
import {
  collectCrashing,
  collectUndisturbed,
  countEvents,
  environmentOf,
  finish,
  liveAndRebuilt,
  plan,
  planRun,
  type Soundness,
  soundnessOf,
  type Victim,
} from '../src/testing/crashing-run.ts';
import { holdAppends } from '../src/testing/hold-appends.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { until } from '../src/testing/until.ts';
import { killRunning, startRole } from '../src/testing/worker-process.ts';
import { runDigest } from '../src/usecases/datasets/digest-trees.ts';

type Home = Platform & { readonly home: string };

/** What is done to a run while it is collected. */
export interface Disturbance {
  readonly seed: number;
  readonly victims: readonly Victim[];
  readonly kills: number;
}

/** Describes what is left of kills. @param projectorKills of projectors that fold side by side. */
export function describeCrashes(disturbances: readonly Disturbance[], projectorKills: number): void {
  const undisturbed = new Map<number, { digest: string; trees: number; record: Soundness }>();
  beforeAll(async () => {
    const platform = await openTestPlatform();
    try {
      for (const seed of [...disturbances.map((one) => one.seed), 14, 15]) {
        const runId = await collectUndisturbed(platform, seed);
        const { digest, trees } = await runDigest(platform, runId);
        undisturbed.set(seed, { digest, trees, record: await soundnessOf(platform.database, runId) });
      }
    } finally {
      await platform.close();
    }
  });

  let platform: Home;
  beforeEach(async () => {
    platform = await openTestPlatform();
  });
  afterEach(async () => {
    await killRunning();
    await platform.close();
  });
  afterAll(killRunning);

  describe('runs collected by processes', () => {
    test.each(disturbances)(
      'a run with $kills kills of $victims (seed $seed) ends in the trees of an undisturbed one, with each event once',
      async (disturbance) => {
        const { runId, kills } = await collectCrashing(platform, disturbance);
        expect(kills.length).toBeGreaterThan(0);
        await checkRecord(runId, disturbance.seed);
      },
    );

    test('two projectors, killed in turn, miss nothing of the run and fold nothing twice', async () => {
      const { runId, kills } = await collectCrashing(platform, {
        seed: 14,
        victims: ['projector'],
        kills: projectorKills,
        projectors: 2,
      });
      expect(kills.length).toBeGreaterThan(0);
      await checkRecord(runId, 14);
    });
  });

  describe('interrupted appends', () => {
    test('an append that became durable after its collector was killed is not repeated', async () => {
      const appends = await holdAppends(platform, 30);
      const { runId, startCollector } = await planRun(platform, 15);
      const collector = startCollector();
      await appends.held();
      const before = await countEvents(platform);
      collector.kill('SIGKILL');
      await collector.ended;
      await appends.release();
      await until(async () => (await countEvents(platform)) > before);
      const projector = startRole('project', environmentOf(platform));
      await finish(platform, startCollector(), [projector]);
      await checkRecord(runId, 15);
    });
  });

  async function checkRecord(runId: string, seed: number): Promise<void> {
    const expected = undisturbed.get(seed);
    expect(await runDigest(platform, runId)).toEqual({ digest: expected?.digest, trees: plan.tasks.length });
    expect(await soundnessOf(platform.database, runId)).toEqual(expected?.record);
    expect(expected?.record).toMatchObject({ anomalies: [], quarantined: [], trees: plan.tasks.length });
    const { live, rebuilt } = await liveAndRebuilt(platform);
    expect(live).toEqual(rebuilt);
  }
}
