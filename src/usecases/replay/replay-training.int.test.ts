import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { TOPICS } from '../../events/catalogue.ts';
import { readLineageEvents } from '../../projections/lineage/lineage-events.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { SILENT } from '../../runtime/logger.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { aTrainPlan } from '../../testing/train-plan.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import { LINEAR_SETTINGS, trainingSettings } from '../../training/backends/training-settings.ts';
import { readCheckpoint } from '../../training/checkpoints/checkpoint-store.ts';
import { lineageIdOf } from '../../training/leases/lineage-of.ts';
import { computeVersion } from '../train/compute-version.ts';
import { train } from '../train/train.ts';
import { readBatchSteps } from '../train/train-policy.ts';
import { replayTraining } from './replay-training.ts';

const NEVER = new AbortController().signal;
const PENALISED = trainingSettings.parse({
  ...LINEAR_SETTINGS.grpo,
  kl: { kind: 'k1', coefficient: 0.2, in: 'reward', controller: { kind: 'adaptive', target: 0.01, horizon: 50 } },
  correction: { weights: { level: 'token' }, rejection: { rules: 'token_k1', bounds: '0.5_2' } },
  aggregation: 'seq-mean-token-sum',
});
const REMAX = trainingSettings.parse({
  ...LINEAR_SETTINGS.grpo,
  objective: { kind: 'policy-gradient', estimator: { name: 'remax', options: {} }, loss: { name: 'dual_clip', options: {} } },
});
const LESSONS = Object.entries({ penalised: PENALISED, ...LINEAR_SETTINGS, remax: REMAX });

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const trainPolicy = (policyId: string, settings = LINEAR_SETTINGS.grpo) =>
  train(platform, {
    plan: aTrainPlan({ policyId, settings, groupsPerBatch: 2, groupSize: 2 }),
    concurrency: 3,
    signal: NEVER,
    logger: SILENT,
  });
const replay = async (policyId: string, from = 0, to: number | null = null) =>
  (await replayTraining(platform, { policyId, from, to, signal: NEVER })).report;
const eventsOf = (policyId: string) => readLineageEvents(platform.database.db, lineageIdOf(policyId));
const settle = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });

describe('the replay of a training', () => {
  test.each(LESSONS)('a training by %s is replayed to the same bytes in every version', async (name, settings) => {
    const { version } = await trainPolicy(`replayed ${name}`, settings);
    expect(await replay(`replayed ${name}`)).toMatchObject({
      outcome: 'equal',
      compared: version + 1,
      differing: 0,
      notes: [],
    });
    expect(await replay(`replayed ${name}`, 2, 3)).toMatchObject({ outcome: 'equal', compared: 2 });
  });

  test('the replay uses the rewards at the time of training, although they were revised later', async () => {
    await trainPolicy('revised');
    const { versions } = await eventsOf('revised');
    const { update, batch } = versions.get(1) ?? {};
    if (!update || !batch) throw new Error('the training made no version 1');
    const treeId = batch.data.groups[0]?.treeId ?? '';
    const rewards = await platform.database.db.selectFrom('rewards').select('rewardId').where('treeId', '=', treeId).execute();
    const appender = appenderAs('reviser', platform);
    const scorer = { name: 'other', revision: '2' };
    await appender.append(
      rewards.map(({ rewardId }, i) => ({
        type: 'RewardRevised',
        correlationId: treeId,
        data: { treeId, rewardId, value: i % 2, scorer, reason: 'judged again' },
      })),
    );
    await settle();
    expect(await replay('revised')).toMatchObject({ outcome: 'equal' });

    // From the rewards of now it would have been another version: the revision did matter.
    const { db } = platform.database;
    const { rows } = await readBatchSteps({ db, blobs: platform.blobs }, batch.data.batchId, NEVER);
    const backend = linearBackend();
    const first = versions.get(0);
    if (!first?.checkpoint) throw new Error('the training has no beginning');
    const { checkpointId, kept, weights } = first.checkpoint.data;
    const checkpoint = await readCheckpoint(platform.blobs, backend, {
      version: 0,
      backend: 'linear',
      checkpointId,
      kept,
      weights,
    });
    const settings = LINEAR_SETTINGS.grpo;
    const version = await computeVersion(
      { policyId: 'revised', backend, settings, batch: batch.data, version: 0, checkpoint, rows },
      NEVER,
    );
    expect(version.weights).not.toBe(update.data.weights);
  });
});

describe('one flipped byte', () => {
  beforeAll(() => trainPolicy('flipped').then(() => undefined));

  test('a flipped byte of a checkpoint is named by its version, and later versions are compared separately', async () => {
    const { checkpoint } = (await eventsOf('flipped')).versions.get(2) ?? {};
    const blob = checkpoint?.data.kept?.blob ?? '';
    const file = join(platform.config.blobs, blob.slice(0, 2), blob.slice(2, 4), blob);
    const bytes = await readFile(file);
    const flipped = Buffer.from(bytes);
    flipped[100] = (flipped[100] ?? 0) ^ 1;
    await writeFile(file, flipped);
    try {
      expect(await replay('flipped')).toMatchObject({
        outcome: 'differs',
        compared: 4,
        differing: 1,
        differences: [{ eventId: checkpoint?.id, field: 'version 2, checkpoint file', replayed: expect.stringContaining(blob) }],
      });
    } finally {
      await writeFile(file, bytes);
    }
    expect(await replay('flipped')).toMatchObject({ outcome: 'equal' });
  });

  test('a flipped byte of a manifest is named by the event that planned the batch', async () => {
    const { batch } = (await eventsOf('flipped')).versions.get(2) ?? {};
    const { manifestHash = '' } = batch?.data ?? {};
    const last = manifestHash.endsWith('0') ? '1' : '0';
    const write = (to: string) =>
      sql`update journal_v1.events e set body = replace(s.body, ${`"manifestHash":"${manifestHash}"`}, ${`"manifestHash":"${to}"`})
        from events s where s.event_id = e.event_id and e.event_id = ${batch?.id}`.execute(platform.database.db);
    const restore = () =>
      sql`update journal_v1.events set body = replace(body, ${`"manifestHash":"${manifestHash.slice(0, -1)}${last}"`}, ${`"manifestHash":"${manifestHash}"`})
        where event_id = ${batch?.id}`.execute(platform.database.db);
    await write(`${manifestHash.slice(0, -1)}${last}`);
    try {
      const report = await replay('flipped');
      expect(report.outcome).toBe('differs');
      expect(report.differences).toMatchObject([
        { eventId: batch?.id, field: 'version 2, manifestHash', replayed: manifestHash },
        { field: 'version 3, previousHash', recorded: manifestHash },
      ]);
    } finally {
      await restore();
    }
  });

  test('a flipped byte in the recorded weights digest of a version is named', async () => {
    const { update } = (await eventsOf('flipped')).versions.get(3) ?? {};
    const weights = update?.data.weights ?? '';
    const other = `${weights.startsWith('0') ? '1' : '0'}${weights.slice(1)}`;
    const swap = (from: string, to: string) =>
      sql`update journal_v1.events e set body = replace(s.body, ${from}, ${to})
        from events s where s.event_id = e.event_id and e.event_id = ${update?.id}`.execute(platform.database.db);
    await swap(weights, other);
    try {
      const { differences } = await replay('flipped');
      expect(differences).toContainEqual(
        expect.objectContaining({ eventId: update?.id, field: 'version 3, weights', recorded: other, replayed: weights }),
      );
    } finally {
      await swap(other, weights);
    }
  });
});

test('an undeclared policy and unknown versions are refused by name', async () => {
  await expect(replay('nobody')).rejects.toMatchObject({ name: 'ReplayRefused', message: expect.stringContaining('nobody') });
  await expect(replay('flipped', 0, 9)).rejects.toMatchObject({ message: expect.stringContaining('versions 0 to 3') });
});
