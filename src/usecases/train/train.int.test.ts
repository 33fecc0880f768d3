import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openEnvironment } from '../../environments/open-environment.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { runProjections } from '../../projections/runner.ts';
import { SILENT } from '../../runtime/logger.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { until } from '../../testing/until.ts';
import { keepCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { train } from './train.ts';
import { beginTraining } from './train-begin.ts';
import type { TrainPlan } from './train-plan.ts';
import { trainPolicy } from './train-policy.ts';
import type { TrainedPolicy, Training } from './training.ts';

type Home = Platform & { readonly home: string };
const open: (() => Promise<void>)[] = [];
let platform: Home;

async function openHome(): Promise<Home> {
  const opened = await openTestPlatform();
  const projector = await runProjections({ log: opened.log, database: opened.database });
  open.push(async () => {
    await projector.close();
    await opened.close();
  });
  return opened;
}
beforeEach(async () => {
  platform = await openHome();
});
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function training(plan: TrainPlan, part: Partial<Training> = {}): Promise<TrainedPolicy> {
  return train(platform, { plan, concurrency: 3, signal: new AbortController().signal, logger: SILENT, ...part });
}
const SMALL = { groupsPerBatch: 2, groupSize: 2 } as const;
const spans = async () => {
  const { rows } = await platform.database.pool.query<{ batch: number; version: number }>(`
    select distinct b.policy_version as batch, (span->>'version')::int as version
    from batches b join batch_samples using (batch_id) join steps s using (rollout_id), jsonb_array_elements(s.policy_spans) span order by 1, 2`);
  return rows;
};

describe('trainings', () => {
  test('a strictly on-policy training trains every batch on samples of its own version, accounts for each, and is measured', async () => {
    const evaluation = { split: 'test', tasks: 3, rollouts: 2, every: 2 };
    const trained = await training(aTrainPlan({ evaluation }));
    expect(trained).toMatchObject({
      version: 3,
      ledger: { produced: 36, trained: 36, rejected: {}, difference: 0, ahead: 0, running: 0 },
    });
    expect(await spans()).toEqual([0, 1, 2].map((version) => ({ batch: version, version })));
    expect(trained.evaluations.map(({ version }) => version)).toEqual([0, 2, 3]);
    const { rows } = await platform.database.pool.query(
      'select channel, count(*)::int as runs from training_runs group by 1 order by 1',
    );
    expect(rows).toEqual([
      { channel: 'held-out', runs: 3 },
      { channel: 'train', runs: 1 },
    ]);
  });

  test('a training with bounded staleness lets collectors run ahead, keeps every span within the bound, and drops nothing', async () => {
    const trained = await training(aTrainPlan({ mode: 'bounded', maxStaleness: 1, updates: 4, ...SMALL }), { concurrency: 6 });
    expect(trained.version).toBe(4);
    expect(trained.ledger).toMatchObject({ rejected: {}, difference: 0 });
    for (const { batch, version } of await spans()) expect([0, 1]).toContain(batch - version);
  });

  test('a training uses the components that its plan names, and every manifest records them', async () => {
    const { db } = platform.database;
    await training(aTrainPlan({ updates: 1, rewards: { environment: 1, 'answer-f1': 0.1 } }));
    const rules = async () => (await db.selectFrom('batches').select('rules').execute()).map((row) => row.rules);
    expect(await rules()).toEqual([
      expect.objectContaining({ metric: 'environment', rewards: { environment: 1, 'answer-f1': 0.1 } }),
    ]);
    const { trainer } = await db.selectFrom('lineages').select('trainer').executeTakeFirstOrThrow();
    expect(trainer).toMatchObject({ settings: { critic: { bootstrap: 'state' } } });
    const refused = training(aTrainPlan({ policyId: 'other', rewards: { environment: 1, format: 0.1 } }));
    await expect(refused).rejects.toThrow(/no component format in search-qa; there are environment, invalid-action/);
    const unweighted = training(aTrainPlan({ policyId: 'other', rewards: { compression: 1 } }));
    await expect(unweighted).rejects.toThrow(/environment has no weight/);
  });

  test('a training that would measure on tasks it trains on is refused, unless the plan allows it', async () => {
    const evaluation = { split: null, tasks: 3, rollouts: 1, every: 3 };
    const both = { ...SMALL, split: null, tasks: null, updates: 1 } as const;
    await expect(training(aTrainPlan({ ...both, evaluation }))).rejects.toThrow(
      /^3 of the 3 tasks that versions are measured on are tasks to train on too; .*--test-on-trained$/,
    );
    expect(await platform.database.db.selectFrom('lineages').selectAll().execute()).toEqual([]);
    const allowed = await training(aTrainPlan({ ...both, evaluation: { ...evaluation, trainedTasks: 'allowed' } }));
    expect(allowed.evaluations.map(({ version }) => version)).toEqual([0, 1]);
  });

  test('a training stopped repeatedly reaches the weights of an undisturbed one', async () => {
    const plan = aTrainPlan(SMALL);
    const undisturbed = await training(plan);
    platform = await openHome();
    let last: TrainedPolicy | undefined;
    for (const steps of [2, 10, 25]) {
      const stopping = new AbortController();
      const onCollect: Training['onCollect'] = (progress) => {
        if (progress.steps >= steps) stopping.abort();
      };
      last = await training(plan, { signal: stopping.signal, onCollect }).catch((error: unknown) => {
        if (!stopping.signal.aborted) throw error;
        return last;
      });
    }
    last = await training(plan);
    expect(last.weights).toBe(undisturbed.weights);
    expect(last.ledger).toEqual(undisturbed.ledger);
  });

  test('a training stopped before it begins ends at once, and begins on the next call', async () => {
    const plan = aTrainPlan({ ...SMALL, updates: 1 });
    const stopping = new AbortController();
    const { log } = platform;
    // Stopped by the first event that it appends: the policy is declared, no group has begun.
    const append: typeof log.append = async (records) => {
      stopping.abort();
      return log.append(records);
    };
    const stopped = await train(
      { ...platform, log: { ...log, append } },
      { plan, concurrency: 3, signal: stopping.signal, logger: SILENT },
    );
    expect(stopped).toMatchObject({ version: 0, evaluations: [], ledger: { produced: 0 } });
    expect(await training(plan)).toMatchObject({ version: 1, ledger: { produced: 4, trained: 4, difference: 0 } });
  });

  test('a training of which nothing can be trained ends as failed with the counted reasons, as does its run', async () => {
    // no question is answered in a step
    const none = { updates: 1, groupsPerBatch: 1, groupSize: 2, maxSteps: 1, zeroVariance: 'reject' } as const;
    const evaluation = { split: 'test', tasks: 2, rollouts: 1, every: 1 };
    const trained = await training(aTrainPlan({ ...none, evaluation }));
    const message = 'no sample was trained: 0 of 24 samples trained; 24 rejected: zero-variance';
    expect(trained).toMatchObject({
      state: 'failed',
      message,
      version: 0,
      evaluations: [],
      ledger: { produced: 24, trained: 0 },
    });
    const runs = platform.database.db.selectFrom('runs').select(['kind', 'outcome', 'message']);
    expect(await runs.execute()).toEqual([{ kind: 'collect', outcome: 'failed', message }]);
    expect(await training(aTrainPlan({ ...none, evaluation }))).toMatchObject({ state: 'failed', message });
  });

  test('a training that uses up its tasks before its last version is measured up to the newest, and reports it', async () => {
    const few = { updates: 4, groupsPerBatch: 1, groupSize: 2, maxSteps: 3, zeroVariance: 'reject', tasks: 2 } as const;
    const evaluation = { split: 'test', tasks: 2, rollouts: 1, every: 100 };
    const trained = await training(aTrainPlan({ ...few, evaluation }));
    const { version, ledger } = trained;
    expect([version > 0, version < 4]).toEqual([true, true]);
    expect(trained).toMatchObject({
      state: 'tasks-used-up',
      message: `tasks used up at version ${version} of 4: ${ledger.trained} of 96 samples trained; ${96 - ledger.trained} rejected: zero-variance`,
      evaluations: [{ version: 0 }, { version, evaluation: { policy: { version } } }],
      ledger: { produced: 96, trained: 2 * version, difference: 0 },
    });
    expect(await training(aTrainPlan({ ...few, evaluation }))).toEqual(trained);
  });

  test('a training refuses another plan under the same name', async () => {
    const kind = await openEnvironment('search-qa');
    await beginTraining(platform, aTrainPlan(), kind);
    await expect(training(aTrainPlan({ groupsPerBatch: 4 }))).rejects.toMatchObject({ name: 'TrainingRefused' });
    await kind.close();
  });
});

describe('trainers', () => {
  test('a trainer refuses an undeclared policy', async () => {
    const asked = { policyId: 'nobody', consumer: 't', untilVersion: 1, signal: new AbortController().signal };
    await expect(trainPolicy(platform, asked)).rejects.toMatchObject({
      name: 'TrainingRefused',
      message: expect.stringContaining('not declared'),
    });
  });

  test('a trainer refuses a damaged checkpoint by name, and the batch can still be trained', async () => {
    await training(aTrainPlan({ updates: 1 }));
    // asked for another update, it goes on from there
    const { pool } = platform.database;
    const damaged = await keepCheckpoint(platform.blobs, new TextEncoder().encode('no checkpoint'));
    await pool.query('update lease_desk set kept = $1', [JSON.stringify(damaged)]);
    await expect(training(aTrainPlan({ updates: 2 }))).rejects.toMatchObject({
      name: 'CheckpointDamaged',
      message: expect.stringMatching(/checkpoint [0-9a-f-]{36} of version 1 .*ESPC/),
    });
    const OFFERED = `select ended_by, end_reason from leases
      where leased_at is not null and batch_id in (select batch_id from batches where ordinal = 1)`;
    await until(async () => (await pool.query(`${OFFERED} and ended_by is not null`)).rows.length > 0); // its event is on its way
    const { rows } = await pool.query(OFFERED);
    expect(rows).toEqual([{ ended_by: 'returned', end_reason: expect.stringContaining('ESPC') }]);
  });
});
