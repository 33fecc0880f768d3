import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { SILENT } from '../../runtime/logger.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { until } from '../../testing/until.ts';
import { checkpointIdOf } from '../../training/checkpoints/checkpoint-store.ts';
import type { Lease } from '../../training/leases/protocol.ts';
import { parseDeclaration } from './declaration/parse-declaration.ts';
import { settingsOf } from './declaration/trainer-of.ts';
import { openLeaseService } from './open-lease-service.ts';
import { train } from './train.ts';
import { planOfDeclaration, type TrainPlan } from './train-plan.ts';

const SMALL = { groupSize: 2, rules: { groupsPerBatch: 2, zeroVariance: 'keep', maxStaleness: 0 } };
const never = new AbortController().signal;
let platform: Platform;
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

function planOf(policyId: string, fields: object, more: Partial<TrainPlan> = {}): TrainPlan {
  const parsed = parseDeclaration({ ...SMALL, ...fields });
  if (parsed.kind === 'refused') throw new Error(parsed.message);
  const { declaration } = parsed;
  return aTrainPlan({ policyId, settings: settingsOf(declaration), ...planOfDeclaration(declaration), updates: 2, ...more });
}

test('compression is paid in the K-th version of a training alone, without a word about iterations', async () => {
  const compression = { reward: 'factor', lambda: 1, mu: 1, every: 2, candidateFactor: 2 };
  const plan = planOf('drawn', { backend: 'linear', prompt: { mode: 'image', compression } });
  const trained = await train(platform, { plan, concurrency: 2, signal: never, logger: SILENT });
  expect(trained).toMatchObject({ state: 'completed', version: 2, ledger: { produced: 8, trained: 8, difference: 0 } });
  const { rows } = await platform.database.pool.query<{ version: number; images: number; paid: number }>(
    `select (s.policy_spans #>> '{0,version}')::int as version, count(h.step_id)::int as images, count(r.reward_id)::int as paid
     from steps s join trees t using (tree_id) join history_images h using (step_id)
     left join rewards r on r.step_id = s.step_id and r.component = 'compression'
     where t.run_id = $1 group by 1 order by 1`,
    [trained.runId],
  );
  expect(rows).toEqual([
    { version: 0, images: expect.any(Number), paid: 0 },
    { version: 1, images: expect.any(Number), paid: expect.any(Number) },
  ]);
  expect(rows[1]?.paid).toBeGreaterThan(0);
});

test('batches of a trainer elsewhere are collected by what acts for it, each step by its newest acknowledged version', async () => {
  const plan = planOf('elsewhere', { backend: 'external', weights: sha256Hex('first') }, { by: 'linear' });
  const training = train(platform, { plan, concurrency: 2, signal: never, logger: SILENT });
  const [trained] = await Promise.all([training, Promise.race([training, trainElsewhere('elsewhere', plan.updates)])]);
  expect(trained).toMatchObject({ state: 'completed', version: 2, ledger: { produced: 8, trained: 8, difference: 0 } });
  const { rows } = await platform.database.pool.query(
    `select distinct s.policy_spans #>> '{0,policyId}' as policy, (s.policy_spans #>> '{0,version}')::int as version
     from steps s join trees t using (tree_id) where t.run_id = $1 and s.depth > 0 order by 2`,
    [trained.runId],
  );
  expect(rows).toEqual([
    { policy: 'elsewhere', version: 0 },
    { policy: 'elsewhere', version: 1 },
  ]);
});

/** Leases batches and acknowledges versions, as a program elsewhere does. */
async function trainElsewhere(policyId: string, updates: number): Promise<void> {
  const service = openLeaseService(platform);
  for (let version = 1; version <= updates; version++) {
    let lease: Lease | undefined;
    await until(async () => {
      const answer = await service.lease({ policyId, consumer: 'theirs', ttlMs: 30_000 });
      lease = answer.kind === 'leased' ? answer.lease : undefined; // not declared yet, or no batch
      return lease !== undefined;
    });
    const { leaseId, fence, lineageId } = lease as unknown as Lease; // `until` ends when there is one
    const weights = sha256Hex(`theirs ${version}`);
    const made = { backend: 'external', weights, kept: null, estimator: null, loss: null, metrics: {} };
    const acked = await service.ack({
      leaseId,
      fence,
      version,
      checkpointId: checkpointIdOf(lineageId, version, weights),
      ...made,
    });
    expect(acked).toMatchObject({ kind: 'acked', version });
  }
}
