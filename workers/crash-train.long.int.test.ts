import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { openEnvironment } from '../src/environments/open-environment.ts';
import { runProjections } from '../src/projections/runner.ts';
import { readLedgers } from '../src/projections/training-pool/read-ledger.ts';
import { SILENT } from '../src/runtime/logger.ts';
import { countEvents, environmentOf, settle } from '../src/testing/crashing-run.ts';
import { openTestPlatform } from '../src/testing/open-test-platform.ts';
import { aTrainPlan } from '../src/testing/train-plan.ts';
import { until } from '../src/testing/until.ts';
import { type ChildProcess, killRunning, startRole } from '../src/testing/worker-process.ts';
import { train } from '../src/usecases/train/train.ts';
import { beginTraining } from '../src/usecases/train/train-begin.ts';

const plan = aTrainPlan();
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  await killRunning();
  for (const close of open.splice(0)) await close();
});

async function openHome() {
  const platform = await openTestPlatform();
  const projector = await runProjections({ log: platform.log, database: platform.database });
  open.push(async () => {
    await projector.close();
    await platform.close();
  });
  return platform;
}

test('collector, batcher and trainer, each killed midway, reach the weights of an undisturbed training with every sample trained once', async () => {
  const signal = new AbortController().signal;
  const expected = await train(await openHome(), { plan, concurrency: 3, signal, logger: SILENT });

  const platform = await openHome();
  const kind = await openEnvironment(plan.environment);
  const run = await beginTraining(platform, plan, kind);
  await kind.close();
  const file = join(platform.home, 'plan.json');
  await writeFile(file, JSON.stringify(run));
  const env = environmentOf(platform);
  const scripts = {
    collector: () => startRole('collect', env, file),
    batcher: () => startRole('batch', env),
    trainer: () => startRole('train', env, plan.policyId, 'trainer-1'),
  } as const;
  const victims = Object.keys(scripts) as (keyof typeof scripts)[]; // the keys of the object above
  const running = new Map<keyof typeof scripts, ChildProcess>(victims.map((victim) => [victim, scripts[victim]()]));

  const { pool } = platform.database;
  const isDone = async () => {
    const { rows } = await pool.query<{ version: number }>(
      'select coalesce(max(version), 0)::int as version from policy_versions',
    );
    return (rows[0]?.version ?? 0) >= plan.updates;
  };
  const began = await countEvents(platform);
  for (const [i, victim] of victims.entries()) {
    await until(async () => (await isDone()) || (await countEvents(platform)) > began + 40 + i * 45, 120_000);
    const process = running.get(victim);
    process?.kill('SIGKILL');
    await process?.ended;
    running.set(victim, scripts[victim]());
  }
  await until(isDone, 180_000);
  await settle(platform);

  const { rows } = await pool.query<{ weights: string }>('select weights from policy_versions where version = $1', [
    plan.updates,
  ]);
  expect(rows[0]?.weights).toBe(expected.weights);
  const [ledger] = await readLedgers(platform.database.db, [plan.policyId]);
  expect(ledger).toMatchObject({ trained: expected.ledger.trained, difference: 0, ahead: 0 });
  const { rows: lengths } = await pool.query('select batch_id from batch_acks group by 1 having count(*) > 1');
  expect(lengths).toEqual([]);
}, 400_000);
