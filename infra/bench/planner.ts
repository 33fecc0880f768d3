import { createAppender } from '../../src/append/appender.ts';
import type { PlanRules } from '../../src/domain/training/planning/plan-rules.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { runProjections } from '../../src/projections/runner.ts';
import { waitUntilProjected } from '../../src/projections/wait-until.ts';
import { declareTraining } from '../../src/usecases/train/batcher/declare-training.ts';
import { type BatcherWorld, planLineage } from '../../src/usecases/train/batcher/plan-lineage.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { fillPool } from './fill-pool.ts';
import type { Outcome } from './outcome.ts';
import { median } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const MEMBERS = 8;
const GROUPS: Record<Size, number> = { full: 12_500, quick: 32 }; // 100,000 samples
const GROUPS_PER_BATCH: Record<Size, number> = { full: 128, quick: 4 };
const PASSES: Record<Size, number> = { full: 9, quick: 2 };
const [CATCH_UP_MS, PRODUCER] = [60_000, { name: 'bench', version: '1' }];

/**
 * Measures the planner of batches: 100,000 samples that are ready at once, from the look at the pool to the last plan in the log,
 * compared with a plain SELECT of their rows; then one more batch of 1,024, where nothing else waits and with 100,000 samples
 * that are planned and untrained.
 */
export async function benchPlanner(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const projector = await runProjections({ log: platform.log, database });
  stage.closing(() => projector.close());
  const [groups, groupsPerBatch, passes] = [GROUPS[stage.size], GROUPS_PER_BATCH[stage.size], PASSES[stage.size]];
  for (const policyId of ['few', 'many']) await declare(platform, policyId, groupsPerBatch);
  await fillPool(database.db, { policyId: 'many', name: 'all', groups, members: MEMBERS });

  const plain = await selectSamples(database, 'many');
  const all = await timePlan(platform, 'many');
  const alone = await timeOneMore(platform, 'few', groupsPerBatch, passes);
  const other = await timeOneMore(platform, 'many', groupsPerBatch, passes);
  return {
    bench: 'planner',
    figures: [
      {
        name: `${(groups * MEMBERS).toLocaleString('en')} ready samples, until their plans are in the log`,
        value: all.samples / all.seconds,
        unit: 'samples/s',
        baseline: { name: 'SELECT of their rows', value: (groups * MEMBERS) / plain, unit: 'samples/s' },
        goal: null,
      },
      {
        name: `one more batch with ${(groups * MEMBERS).toLocaleString('en')} untrained samples`,
        value: other * 1_000,
        unit: 'ms',
        baseline: { name: 'the same where nothing waits', value: alone * 1_000, unit: 'ms' },
        goal: null,
      },
    ],
    conditions: {
      'batches planned at once': all.batches,
      'samples of a batch': groupsPerBatch * MEMBERS,
      'further batches': `${passes}, the median`,
      ...stage.conditions(),
    },
  };
}

async function declare(platform: Platform, policyId: string, groupsPerBatch: number): Promise<void> {
  const rules: PlanRules = {
    groupsPerBatch,
    group: { kind: 'all' },
    maxStaleness: null,
    offPolicy: 'any',
    metric: 'environment',
    unscored: 'wait',
    zeroVariance: 'reject',
    band: null,
    truncated: 'keep',
    maxTokens: null,
    layout: 'step',
    tokenBudget: 32_000,
  };
  const appender = createAppender({ ...platform, producer: PRODUCER, clock: Date.now });
  await declareTraining(appender, { policyId, estimator: { name: 'grpo', options: {} }, rules, seed: 1, trainer: {} });
  const answer = await openLeaseService(platform).registerPolicy({
    policyId,
    backend: 'bench',
    weights: 'a'.repeat(64),
    kept: null,
  });
  if (answer.kind === 'refused') throw new Error(answer.message);
  await caughtUp(platform);
}

/** Waits until what was planned is folded, as a planner that begins now would. */
async function caughtUp({ database, log }: Platform): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(['training']), { timeoutMs: CATCH_UP_MS });
}

async function selectSamples({ pool }: StageDatabase, policyId: string): Promise<number> {
  const began = performance.now();
  await pool.query(
    `select s.* from training_runs r join groups g using (run_id) join samples s using (tree_id) where r.policy_id = $1`,
    [policyId],
  );
  return (performance.now() - began) / 1_000;
}

async function timePlan(platform: Platform, policyId: string) {
  const { db } = platform.database;
  const world: BatcherWorld = { ...platform, db, producer: PRODUCER, clock: Date.now, catchUpMs: CATCH_UP_MS };
  const began = performance.now();
  const planned = await planLineage(world, policyId, new AbortController().signal);
  const seconds = (performance.now() - began) / 1_000;
  if (planned.kind !== 'planned') throw new Error(`the planner of ${policyId} is ${planned.kind}`);
  return { ...planned, seconds };
}

/** Seconds that planning takes when the groups of one batch have become ready, the median of some passes. */
async function timeOneMore(platform: Platform, policyId: string, groups: number, passes: number): Promise<number> {
  const seconds: number[] = [];
  for (let pass = 0; pass < passes; pass++) {
    await fillPool(platform.database.db, { policyId, name: `pass ${pass}`, groups, members: MEMBERS });
    await caughtUp(platform);
    seconds.push((await timePlan(platform, policyId)).seconds);
  }
  return median(seconds);
}
