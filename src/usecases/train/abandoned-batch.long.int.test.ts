import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openEnvironment } from '../../environments/open-environment.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { SILENT } from '../../runtime/logger.ts';
import { settle } from '../../testing/crashing-run.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { until } from '../../testing/until.ts';
import { collectWithRetry } from '../collect/collect-with-retry.ts';
import { replayTraining } from '../replay/replay-training.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { batch } from './batcher/run-batcher.ts';
import { openLeaseService } from './open-lease-service.ts';
import { train } from './train.ts';
import { beginTraining } from './train-begin.ts';
import type { TrainPlan } from './train-plan.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
beforeEach(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterEach(async () => {
  await projector.close();
  await platform.close();
});

test('a training whose batch is abandoned collects for the same version again, and reaches its last version', async () => {
  const { signal } = new AbortController();
  const { db } = platform.database;
  const plan = aTrainPlan({ policyId: 'interrupted' });
  const batchId = await planFirstBatch(plan);
  expect(await openLeaseService(platform).abandon({ batchId, reason: 'given up by hand' })).toMatchObject({
    kind: 'abandoned',
    ordinal: 0,
  });

  const trained = await train(platform, { plan, concurrency: 3, signal, logger: SILENT });
  expect(trained).toMatchObject({
    version: 3,
    ledger: { produced: 48, trained: 36, abandoned: 12, rejected: {}, difference: 0, running: 0 },
  });
  await settle(platform);
  const batches = await db.selectFrom('batches').select(['ordinal', 'policyVersion']).orderBy('ordinal').execute();
  expect(batches.map((row) => [row.ordinal, row.policyVersion])).toEqual([
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 2],
  ]);
  const { report } = await replayTraining(platform, { policyId: plan.policyId, from: 0, to: null, signal });
  expect(report).toMatchObject({ outcome: 'equal', compared: 4 });
  expect(await verifyRecord(platform, { files: [], signal })).toMatchObject({ faulty: 0 });
});

/** Collects and plans without a trainer until the first batch is there. */
async function planFirstBatch(plan: TrainPlan): Promise<string> {
  const kind = await openEnvironment(plan.environment);
  const run = await beginTraining(platform, plan, kind);
  const collecting = new AbortController();
  const batcher = await batch(platform, SILENT);
  const collected = collectWithRetry(platform, { ...run, signal: collecting.signal, concurrency: 3, onFault: () => undefined });
  let batchId: string | undefined;
  await until(async () => {
    batchId = (await platform.database.db.selectFrom('batches').select('batchId').executeTakeFirst())?.batchId;
    return batchId !== undefined;
  });
  collecting.abort();
  await collected.catch(() => undefined); // it was stopped
  await batcher.close();
  await kind.close();
  return batchId ?? '';
}
